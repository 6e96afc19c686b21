#include "nn/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "autograd/functions.h"
#include "core/error.h"

namespace heed::nn {

double length_penalty(int64_t length, double alpha) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// What one step added to a hypothesis. Hypotheses are chains of these, so that one grows without a
// copy of what came before.
struct Node {
  int64_t parent;  // among the search's nodes; none at the first token
  int32_t token;
  int64_t row;  // of the step's attention
};
constexpr int64_t none = -1;

struct Partial {
  int64_t node = none;
  double log_probability = 0;
};

struct Finished {
  int64_t node;
  double log_probability;
  double score;
  bool ended;
};

// The search for one sentence.
struct Search {
  int64_t max_length = 0;
  int64_t source_length = 0;
  std::vector<Node> nodes;
  std::vector<Partial> live;
  std::vector<Finished> finished;

  // length: tokens, the end counted.
  void finish(const Partial& hypothesis, int64_t length, bool ended, double alpha) {
    const Finished entry = {hypothesis.node, hypothesis.log_probability,
                            hypothesis.log_probability / length_penalty(length, alpha), ended};
    const auto better = [](const Finished& a, const Finished& b) { return a.score > b.score; };
    finished.insert(std::upper_bound(finished.begin(), finished.end(), entry, better), entry);
  }

  // Whether some continuation of a live hypothesis could still enter the n best. Log-probabilities
  // only fall, and a penalty with alpha > 0 is mildest at the greatest length.
  // length: tokens of the live ones.
  bool can_improve(const DecodingOptions& options, int64_t length) const {
    if (live.empty()) {
      return false;
    }
    if (static_cast<int64_t>(finished.size()) < options.n_best) {
      return true;
    }
    const int64_t mildest = options.length_penalty > 0 ? max_length : length + 1;
    double best = minus_infinity;
    for (const Partial& hypothesis : live) {
      best = std::max(best,
                      hypothesis.log_probability / length_penalty(mildest, options.length_penalty));
    }
    return best > finished[static_cast<size_t>(options.n_best - 1)].score;
  }
};

struct Candidate {
  size_t parent;
  int32_t token;
  double log_probability;
};

// What the model says may follow each row, the likeliest first.
struct Continuations {
  size_t a_row;
  std::vector<double> log_probabilities;  // (rows, a_row)
  std::vector<int32_t> tokens;
};

struct AttentionRows {
  std::vector<float> weights;  // (rows, width)
  int64_t width;
};

void check_options(const DecodingOptions& options) {
  HEED_CHECK_INPUT(options.beam_size >= 1, "decode", "beam size {} is not positive",
                   options.beam_size);
  HEED_CHECK_INPUT(options.n_best >= 1 && options.n_best <= options.beam_size, "decode",
                   "{} best hypotheses cannot come from a beam of {}", options.n_best,
                   options.beam_size);
}

class BeamSearch {
 public:
  BeamSearch(TranslationModel& model, const PaddedIds& source, const DecodingOptions& options)
      : model_(model), options_(options) {
    for (const int64_t length : source.lengths) {
      Search search;
      search.source_length = length;
      search.max_length = options.max_length > 0
                              ? options.max_length
                              : std::max(2 * length + 10, options.min_length + 1);
      search.max_length = std::min(search.max_length, model.context().value_or(search.max_length));
      search.live.emplace_back();
      searches_.push_back(std::move(search));
    }
    state_ = model.start(source);
    for (size_t i = 0; i < searches_.size(); ++i) {
      active_.push_back(i);
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    for (int64_t length = 0; !active_.empty(); ++length) {
      step(length);
    }
    std::vector<std::vector<Hypothesis>> results;
    for (const Search& search : searches_) {
      const auto count = std::min(search.finished.size(), static_cast<size_t>(options_.n_best));
      auto& best = results.emplace_back();
      for (size_t i = 0; i < count; ++i) {
        best.push_back(whole(search, search.finished[i]));
      }
    }
    return results;
  }

 private:
  // Rows of the model's batch are the live hypotheses of the active searches, in order.
  void step(int64_t length) {
    const auto output = model_.step(*state_, last_tokens(), options_.with_attention);
    if (output.attention.defined()) {
      attention_.push_back(
          {to_dtype(output.attention, DType::f32).to_vector<float>(), output.attention.dim(1)});
    }
    const Continuations continuations = likeliest(output.logits);
    std::vector<int32_t> kept_rows;
    std::vector<size_t> still_active;
    size_t first_row = 0;
    for (const size_t i : active_) {
      Search& search = searches_[i];
      const size_t rows = search.live.size();
      const auto candidates = candidates_of(search, continuations, first_row, length);
      const auto live_rows = grow(search, candidates, first_row, length);
      if (search.can_improve(options_, length + 1)) {
        still_active.push_back(i);
        kept_rows.insert(kept_rows.end(), live_rows.begin(), live_rows.end());
      }
      first_row += rows;
    }
    active_ = std::move(still_active);
    if (!active_.empty() && !is_identity(kept_rows, first_row)) {
      state_->select(kept_rows);
    }
  }

  Tensor last_tokens() const {
    std::vector<int32_t> tokens;
    for (const size_t i : active_) {
      const Search& search = searches_[i];
      for (const Partial& hypothesis : search.live) {
        tokens.push_back(hypothesis.node == none
                             ? options_.start_id
                             : search.nodes[static_cast<size_t>(hypothesis.node)].token);
      }
    }
    return Tensor::from_vector(tokens, {std::ssize(tokens)});
  }

  // As many of each row that a beam is left when those that may not follow are taken out.
  Continuations likeliest(const Tensor& logits) const {
    const int64_t count =
        std::min(model_.target_vocabulary(),
                 options_.beam_size + 1 + static_cast<int64_t>(options_.never.size()));
    const TopK best = top_k(log_softmax(logits), count);
    return {static_cast<size_t>(count), best.values.to_doubles(),
            best.indices.to_vector<int32_t>()};
  }

  // The best beam_size continuations of a search's live hypotheses, best first.
  std::vector<Candidate> candidates_of(const Search& search, const Continuations& continuations,
                                       size_t first_row, int64_t length) const {
    std::vector<Candidate> candidates;
    for (size_t parent = 0; parent < search.live.size(); ++parent) {
      for (size_t c = 0; c < continuations.a_row; ++c) {
        const size_t at = (first_row + parent) * continuations.a_row + c;
        const double added = continuations.log_probabilities[at];
        HEED_CHECK(!std::isnan(added), "decode", "the model gives NaN: its weights are not finite");
        if (allowed(continuations.tokens[at], length)) {
          candidates.push_back(
              {parent, continuations.tokens[at], search.live[parent].log_probability + added});
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.log_probability > b.log_probability;
                     });
    candidates.resize(std::min(candidates.size(), static_cast<size_t>(options_.beam_size)));
    return candidates;
  }

  // The candidates finish or become the live hypotheses; returns the rows that those continue.
  std::vector<int32_t> grow(Search& search, const std::vector<Candidate>& candidates,
                            size_t first_row, int64_t length) const {
    const std::vector<Partial> parents = std::exchange(search.live, {});
    if (candidates.empty()) {  // nothing may follow
      for (const Partial& parent : parents) {
        search.finish(parent, length, false, options_.length_penalty);
      }
    }
    std::vector<int32_t> live_rows;
    for (const Candidate& candidate : candidates) {
      const auto row = static_cast<int64_t>(first_row + candidate.parent);
      const Partial grown = {std::ssize(search.nodes), candidate.log_probability};
      search.nodes.push_back({parents[candidate.parent].node, candidate.token, row});
      const bool ends = candidate.token == options_.end_id;
      if (ends || length + 1 >= search.max_length) {
        search.finish(grown, length + 1, ends, options_.length_penalty);
      } else {
        search.live.push_back(grown);
        live_rows.push_back(static_cast<int32_t>(row));
      }
    }
    return live_rows;
  }

  bool allowed(int32_t token, int64_t length) const {
    if (token == options_.end_id) {
      return length >= options_.min_length;
    }
    return std::find(options_.never.begin(), options_.never.end(), token) == options_.never.end();
  }

  // A hypothesis read from its chain: node number t belongs to step t.
  Hypothesis whole(const Search& search, const Finished& entry) const {
    std::vector<Node> chain;
    for (int64_t at = entry.node; at != none; at = chain.back().parent) {
      chain.push_back(search.nodes[static_cast<size_t>(at)]);
    }
    std::reverse(chain.begin(), chain.end());
    Hypothesis result;
    result.log_probability = entry.log_probability;
    result.score = entry.score;
    result.ended = entry.ended;
    for (size_t t = 0; t < chain.size(); ++t) {
      if (chain[t].token != options_.end_id) {
        result.tokens.push_back(chain[t].token);
      }
      if (!attention_.empty()) {
        const auto begin = attention_[t].weights.begin() + chain[t].row * attention_[t].width;
        result.attention.emplace_back(begin, begin + search.source_length);
      }
    }
    return result;
  }

  static bool is_identity(const std::vector<int32_t>& rows, size_t count) {
    if (rows.size() != count) {
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      if (rows[i] != static_cast<int32_t>(i)) {
        return false;
      }
    }
    return true;
  }

  TranslationModel& model_;
  DecodingOptions options_;
  std::vector<Search> searches_;
  std::vector<size_t> active_;
  std::vector<AttentionRows> attention_;  // of each step; none unless asked for
  std::unique_ptr<DecoderState> state_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> decode(TranslationModel& model, const PaddedIds& source,
                                            const DecodingOptions& options) {
  check_options(options);
  if (source.batch() == 0) {
    return {};
  }
  const EvaluationScope evaluation(model);
  return BeamSearch(model, source, options).run();
}

}  // namespace heed::nn
