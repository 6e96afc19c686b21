#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/export.h"

namespace heed::train {

// One line of a chart. A point that cannot be drawn (or is not above 0 on a log axis) is a gap.
struct Series {
  std::string name;
  std::vector<double> x, y;
  bool markers = false;
};

struct Range {
  double low, high;
};

struct ChartOptions {
  std::string title;
  std::string x_label, y_label;
  bool log_y = false;                     // the y label says so
  std::optional<Range> x_range, y_range;  // shown at least, whatever the points
  int width = 720, height = 420;          // pixels, at least 240 x 160
};

// Whether a chart has a place for the value: it is finite and, as differences and ratios have to be
// so as well, below 1e100.
HEED_EXPORT bool is_drawable(double value);

// A line chart as one self-contained <svg> element. Long series are thinned to the lowest and the
// highest point of each pixel column; where every x is a whole number, as steps and lengths are, so
// are the ticks. Throws Error when there is no series, nothing to draw in any of them, x and y
// differ in length, a range cannot be shown or the chart is too small.
HEED_EXPORT std::string line_chart_svg(const std::vector<Series>& series,
                                       const ChartOptions& options = {});

struct Chart {
  std::vector<Series> series;
  ChartOptions options;
};

// Charts to stand beneath each other, as line_chart_svg draws each: all show the same range of x,
// and in charts of equal width the same x stands at the same place.
HEED_EXPORT std::vector<std::string> line_charts_svg(const std::vector<Chart>& charts);

}  // namespace heed::train
