#pragma once

#include <cmath>
#include <cstdint>

namespace heed::train {

// Sums over a corpus under teacher forcing, in nats.
struct CorpusLoss {
  double loss = 0;  // label smoothing included
  double nll = 0;   // without it
  int64_t tokens = 0;
  double loss_per_token() const { return tokens > 0 ? loss / static_cast<double>(tokens) : 0; }
  double nll_per_token() const { return tokens > 0 ? nll / static_cast<double>(tokens) : 0; }
  double perplexity() const { return std::exp(nll_per_token()); }
};

}  // namespace heed::train
