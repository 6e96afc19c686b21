#include "data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "data/vocabulary.h"

namespace heed::data {
namespace {

int64_t width_of(const PairStore& examples, size_t index) {
  return static_cast<int64_t>(
      std::max(examples.source_length(index), examples.target_length(index) + 1));
}

// About how many sentences a batch holds.
size_t sentences_a_batch(const PairStore& examples, const BatchLimits& limits) {
  int64_t width = 0;
  for (size_t i = 0; i < examples.size(); ++i) {
    width += width_of(examples, i);
  }
  const auto count = static_cast<int64_t>(examples.size());
  const int64_t by_tokens =
      limits.tokens > 0 && width > 0 ? limits.tokens * count / width : limits.sentences;
  return static_cast<size_t>(std::max<int64_t>(1, std::min(limits.sentences, by_tokens)));
}

std::vector<uint32_t> all_of(const PairStore& examples) {
  std::vector<uint32_t> order(examples.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  return order;
}

}  // namespace

PairBatch make_batch(const PairStore& examples, std::span<const uint32_t> indices) {
  PairBatch batch;
  batch.indices.assign(indices.begin(), indices.end());
  for (const uint32_t index : indices) {
    const auto target = static_cast<int64_t>(examples.target_length(index)) + 1;
    batch.source_width =
        std::max(batch.source_width, static_cast<int64_t>(examples.source_length(index)));
    batch.target_width = std::max(batch.target_width, target);
    batch.target_tokens += target;
  }
  batch.source_width = std::max<int64_t>(batch.source_width, 1);
  const auto source_cells = static_cast<size_t>(batch.size() * batch.source_width);
  const auto target_cells = static_cast<size_t>(batch.size() * batch.target_width);
  batch.source.assign(source_cells, Vocabulary::padding);
  batch.target_input.assign(target_cells, Vocabulary::padding);
  batch.target_output.assign(target_cells, Vocabulary::padding);
  for (size_t row = 0; row < indices.size(); ++row) {
    const PairExample example = examples.at(indices[row]);
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

BatchPlan::BatchPlan(const PairStore& examples, std::vector<uint32_t> order,
                     const BatchLimits& limits, size_t pool)
    : order_(std::move(order)) {
  Range batch{0, 0};
  int64_t width = 0;
  const auto end_batch = [&](size_t next) {
    if (batch.count > 0) {
      batches_.push_back(batch);
    }
    batch = {static_cast<uint32_t>(next), 0};
    width = 0;
  };
  for (size_t i = 0; i < order_.size(); ++i) {
    const int64_t wider = std::max(width, width_of(examples, order_[i]));
    const int64_t rows = int64_t{batch.count} + 1;
    if (i % pool == 0 || rows > limits.sentences ||
        (limits.tokens > 0 && rows * wider > limits.tokens)) {
      end_batch(i);
    }
    width = std::max(width, width_of(examples, order_[i]));
    ++batch.count;
  }
  end_batch(order_.size());
}

BatchPlan plan_epoch(const PairStore& examples, const BatchLimits& limits, Generator& generator) {
  std::vector<uint32_t> order = all_of(examples);
  generator.shuffle(order);
  const size_t pool = static_cast<size_t>(limits.pool) * sentences_a_batch(examples, limits);
  for (size_t begin = 0; begin < order.size(); begin += pool) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(pool, order.size() - begin));
    std::stable_sort(first, last, [&](uint32_t a, uint32_t b) {
      return std::pair(examples.target_length(a), examples.source_length(a)) <
             std::pair(examples.target_length(b), examples.source_length(b));
    });
  }
  BatchPlan plan(examples, std::move(order), limits, pool);
  plan.shuffle(generator);
  return plan;
}

BatchPlan plan_by_length(const PairStore& examples, const BatchLimits& limits) {
  std::vector<uint32_t> order = all_of(examples);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return examples.source_length(a) > examples.source_length(b);
  });
  return {examples, std::move(order), limits, SIZE_MAX};
}

}  // namespace heed::data
