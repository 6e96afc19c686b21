#include "data/batches.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "data/vocabulary.h"

namespace heed::data {
namespace {

int64_t width_of(const PairExample& example) {
  return static_cast<int64_t>(std::max(example.source.size(), example.target.size() + 1));
}

// Neighbours go together until a limit is reached.
void cut(const std::vector<PairExample>& examples, const std::vector<size_t>& order,
         const BatchLimits& limits, std::vector<std::vector<size_t>>& batches) {
  std::vector<size_t> batch;
  int64_t width = 0;
  for (const size_t index : order) {
    const int64_t wider = std::max(width, width_of(examples[index]));
    const auto rows = static_cast<int64_t>(batch.size()) + 1;
    const bool full =
        rows > limits.sentences || (limits.tokens > 0 && rows * wider > limits.tokens);
    if (full && !batch.empty()) {
      batches.push_back(std::move(batch));
      batch.clear();
      width = 0;
    }
    width = std::max(width, width_of(examples[index]));
    batch.push_back(index);
  }
  if (!batch.empty()) {
    batches.push_back(std::move(batch));
  }
}

// About how many sentences a batch holds.
size_t sentences_a_batch(const std::vector<PairExample>& examples, const BatchLimits& limits) {
  int64_t width = 0;
  for (const PairExample& example : examples) {
    width += width_of(example);
  }
  const auto count = static_cast<int64_t>(examples.size());
  const int64_t by_tokens =
      limits.tokens > 0 && width > 0 ? limits.tokens * count / width : limits.sentences;
  return static_cast<size_t>(std::max<int64_t>(1, std::min(limits.sentences, by_tokens)));
}

}  // namespace

PairBatch make_batch(const std::vector<PairExample>& examples, const std::vector<size_t>& indices) {
  PairBatch batch;
  batch.indices = indices;
  for (const size_t index : indices) {
    const PairExample& example = examples[index];
    batch.source_width = std::max(batch.source_width, static_cast<int64_t>(example.source.size()));
    batch.target_width =
        std::max(batch.target_width, static_cast<int64_t>(example.target.size()) + 1);
    batch.target_tokens += static_cast<int64_t>(example.target.size()) + 1;
  }
  batch.source_width = std::max<int64_t>(batch.source_width, 1);
  const auto source_cells = static_cast<size_t>(batch.size() * batch.source_width);
  const auto target_cells = static_cast<size_t>(batch.size() * batch.target_width);
  batch.source.assign(source_cells, Vocabulary::padding);
  batch.target_input.assign(target_cells, Vocabulary::padding);
  batch.target_output.assign(target_cells, Vocabulary::padding);
  for (size_t row = 0; row < indices.size(); ++row) {
    const PairExample& example = examples[indices[row]];
    batch.source_lengths.push_back(static_cast<int64_t>(example.source.size()));
    std::copy(example.source.begin(), example.source.end(),
              batch.source.begin() + static_cast<int64_t>(row) * batch.source_width);
    const auto at = static_cast<int64_t>(row) * batch.target_width;
    batch.target_input[static_cast<size_t>(at)] = Vocabulary::start;
    std::copy(example.target.begin(), example.target.end(), batch.target_input.begin() + at + 1);
    std::copy(example.target.begin(), example.target.end(), batch.target_output.begin() + at);
    batch.target_output[static_cast<size_t>(at) + example.target.size()] = Vocabulary::end;
  }
  return batch;
}

std::vector<std::vector<size_t>> plan_epoch(const std::vector<PairExample>& examples,
                                            const BatchLimits& limits, Generator& generator) {
  std::vector<size_t> order(examples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  generator.shuffle(order);
  const size_t pool = static_cast<size_t>(limits.pool) * sentences_a_batch(examples, limits);
  std::vector<std::vector<size_t>> batches;
  for (size_t begin = 0; begin < order.size(); begin += pool) {
    const size_t end = std::min(order.size(), begin + pool);
    std::vector<size_t> part(order.begin() + static_cast<int64_t>(begin),
                             order.begin() + static_cast<int64_t>(end));
    std::stable_sort(part.begin(), part.end(), [&](size_t a, size_t b) {
      return std::pair(examples[a].target.size(), examples[a].source.size()) <
             std::pair(examples[b].target.size(), examples[b].source.size());
    });
    cut(examples, part, limits, batches);
  }
  generator.shuffle(batches);
  return batches;
}

std::vector<std::vector<size_t>> plan_by_length(const std::vector<PairExample>& examples,
                                                const BatchLimits& limits) {
  std::vector<size_t> order(examples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return examples[a].source.size() > examples[b].source.size();
  });
  std::vector<std::vector<size_t>> batches;
  cut(examples, order, limits, batches);
  return batches;
}

}  // namespace heed::data
