#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/report/chart.h"
#include "train/report/page.h"

namespace heed::train {

// A value of the events of one kind ("validation", "train"), where it can be drawn, in its unit.
HEED_EXPORT Series series_of(const std::vector<MetricsEvent>& events, const std::string& event,
                             const std::string& value, const std::string& name);

// The last step of any event; 0 when there is none.
HEED_EXPORT int64_t last_step(const std::vector<MetricsEvent>& events);

// The curves of a run, for a page: loss (training, validation), validation scores, learning rate
// and gradient norm, all from step 0 to the last. What has no points is left out; empty when
// nothing has.
HEED_EXPORT std::vector<PageSection> curve_sections(const std::vector<MetricsEvent>& events);

// The page of a run, called by its folder: what it learned from and the scores of its best
// checkpoint, curves, and what that checkpoint makes of its validation corpus.
HEED_EXPORT std::string run_report(const std::string& run, const Checkpoint& best,
                                   const std::vector<MetricsEvent>& events);

}  // namespace heed::train
