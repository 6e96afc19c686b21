#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "core/tensor.h"

namespace heed::nn {

// Who may attend to whom, true = may; parts are joined by `&`. The causal part stays a word, so
// that attention needs no (L, S) tensor for it.
class HEED_EXPORT Mask {
 public:
  Mask() = default;  // everything may be attended
  // Query l sees keys s <= l + S - L: the last query sees all keys.
  static Mask causal();
  // Keys s < lengths[b] of `width` keys. What stands at the others, NaN included, reaches nothing.
  static Mask padding(const std::vector<int64_t>& lengths, int64_t width);
  // allowed: boolean, (S), (L, S) or four dimensions that broadcast to (B, H, L, S). Three are
  // refused: the first could mean the batch as well as the heads.
  static Mask allowing(const Tensor& allowed);

  Mask operator&(const Mask& other) const;

  bool is_causal() const { return causal_; }
  // All of it but the causal part, broadcasting to (B, H, L, S); undefined: all.
  const Tensor& allowed() const { return allowed_; }
  // x (B, S, C) with zeros at the padded keys.
  Tensor clear_padding(const Tensor& x) const;
  // The same mask for what is cleared already: clear_padding gives x as it is.
  Mask cleared() const;

 private:
  bool causal_ = false;
  Tensor allowed_;
  Tensor keys_;  // (B, S): the padding alone
};

}  // namespace heed::nn
