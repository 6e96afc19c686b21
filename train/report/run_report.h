#pragma once

#include <string>
#include <vector>

#include "core/export.h"
#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/report/chart.h"
#include "train/report/page.h"

namespace heed::train {

// A value of the events of one kind ("validation", "train"), where it can be drawn.
HEED_EXPORT Series series_of(const std::vector<MetricsEvent>& events, const std::string& event,
                             const std::string& value, const std::string& name, double scale = 1);

// The curves of a run: loss (training, validation), learning rate, and the validation scores. Each
// is one <svg>; a curve without points is left out.
struct Curve {
  std::string heading;
  std::string svg;
};
HEED_EXPORT std::vector<Curve> run_curves(const std::vector<MetricsEvent>& events);

// The page of a run, called by its folder: curves, and what its best checkpoint makes of its
// validation corpus.
HEED_EXPORT std::string run_report(const std::string& run, const Checkpoint& best,
                                   const std::vector<MetricsEvent>& events);

}  // namespace heed::train
