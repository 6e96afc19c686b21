#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/metrics.h"
#include "train/report/alignment.h"
#include "train/report/page.h"
#include "train/translator.h"

namespace heed::train {

// The curves of a run: loss (training, validation), learning rate, and the validation scores. Each
// is one <svg>; a curve without points is left out.
struct Curve {
  std::string heading;
  std::string svg;
};
HEED_EXPORT std::vector<Curve> run_curves(const std::vector<MetricsEvent>& events);

// The alignment of a translation; nothing when the model does not attend.
HEED_EXPORT std::optional<AlignmentPicture> alignment_picture(const Translator& translator,
                                                              const std::string& source,
                                                              const Translation& translation);

// The same for a given pair: `attention` as forced_attention() gives it.
HEED_EXPORT std::optional<AlignmentPicture> alignment_picture(
    const Translator& translator, const data::SentencePair& pair,
    const std::vector<std::vector<float>>& attention);

// The page of a run: curves, sample translations and their alignments.
HEED_EXPORT std::string run_report(const std::string& title,
                                   const std::vector<MetricsEvent>& events, Translator& translator,
                                   const std::vector<data::SentencePair>& samples);

}  // namespace heed::train
