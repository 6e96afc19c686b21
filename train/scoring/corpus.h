#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace heed::train {

// What every score asks of its corpus.
inline void check_corpus(std::string_view score, std::span<const std::string> hypotheses,
                         std::span<const std::string> references) {
  HEED_CHECK(hypotheses.size() == references.size(), score,
             "each hypothesis needs one reference: {} hypotheses, {} references", hypotheses.size(),
             references.size());
  HEED_CHECK(!hypotheses.empty(), score, "there is no sentence to score");
}

}  // namespace heed::train
