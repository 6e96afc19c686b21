#include "train/report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "train/report/axis.h"
#include "train/report/display_width.h"
#include "train/report/page.h"
#include "train/report/svg.h"

namespace heed::train {
namespace {

using svg::px;

// Okabe and Ito's colours without yellow, which white swallows; black comes last.
constexpr std::array<std::string_view, 7> palette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#1f2430"};
constexpr std::array<std::string_view, 3> dashes = {"", " stroke-dasharray=\"6 3\"",
                                                    " stroke-dasharray=\"2 2.5\""};
constexpr double drawable = 1e100;
constexpr int label_columns = 28;
constexpr double label_height = 16;
constexpr double swatch_width = 18;

struct Point {
  double x, y;
};

struct Plot {
  double left, top, right, bottom;
  Range x, y;
  bool log_y;

  double across(double value) const {
    return left + (value - x.low) / (x.high - x.low) * (right - left);
  }
  double down(double value) const {
    const double share = log_y ? std::log(value / y.low) / std::log(y.high / y.low)
                               : (value - y.low) / (y.high - y.low);
    return bottom - share * (bottom - top);
  }
};

bool is_drawable(double x, double y, bool log_y) {
  return train::is_drawable(x) && train::is_drawable(y) && (!log_y || y > 1 / drawable);
}

void check(const std::vector<Series>& series, const ChartOptions& options) {
  HEED_CHECK(!series.empty(), "chart", "there is no series to draw");
  HEED_CHECK(options.width >= 240 && options.height >= 160, "chart",
             "a chart of {} x {} pixels is too small: at least 240 x 160", options.width,
             options.height);
  if (options.x_range) {
    const auto [low, high] = *options.x_range;
    HEED_CHECK(low <= high && is_drawable(low, high, false), "chart",
               "x cannot be shown from {} to {}", low, high);
  }
  if (options.y_range) {
    const auto [low, high] = *options.y_range;
    HEED_CHECK(low <= high && is_drawable(0, low, options.log_y) && is_drawable(0, high, false),
               "chart", "y cannot be shown from {} to {}{}", low, high,
               options.log_y ? " on a log axis" : "");
  }
  for (const auto& one : series) {
    HEED_CHECK(one.x.size() == one.y.size(), "chart",
               "the series \"{}\" has {} values of x and {} of y", printable(one.name),
               one.x.size(), one.y.size());
  }
}

// The points between two gaps, in pixels; of those that share a pixel column the first, the
// lowest, the highest and the last are kept.
std::vector<std::vector<Point>> runs_of(const Series& series, const Plot& plot) {
  std::vector<std::vector<Point>> runs(1);
  std::vector<Point> column;
  const auto flush = [&] {
    if (column.size() > 4) {
      const auto [low, high] = std::minmax_element(column.begin(), column.end(),
                                                   [](Point a, Point b) { return a.y < b.y; });
      const auto [early, late] = std::minmax(low, high);
      std::array kept = {column.begin(), early, late, column.end() - 1};
      std::vector<Point> points;
      std::for_each(kept.begin(), std::unique(kept.begin(), kept.end()),
                    [&](auto point) { points.push_back(*point); });
      column = std::move(points);
    }
    runs.back().insert(runs.back().end(), column.begin(), column.end());
    column.clear();
  };
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!is_drawable(series.x[i], series.y[i], plot.log_y)) {
      flush();
      if (!runs.back().empty()) {
        runs.emplace_back();
      }
      continue;
    }
    const Point point = {plot.across(series.x[i]), plot.down(series.y[i])};
    if (!column.empty() && std::floor(column.back().x) != std::floor(point.x)) {
      flush();
    }
    column.push_back(point);
  }
  flush();
  if (runs.back().empty()) {
    runs.pop_back();
  }
  return runs;
}

std::string grid_svg(const Plot& plot, const std::vector<Tick>& x_ticks,
                     const std::vector<Tick>& y_ticks) {
  std::string lines, labels;
  for (const auto& tick : x_ticks) {
    const std::string x = px(plot.across(tick.value));
    lines += fmt::format("M{} {}V{}", x, px(plot.top), px(plot.bottom));
    labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x,
                          px(plot.bottom + 17), tick.label);
  }
  for (const auto& tick : y_ticks) {
    const double y = plot.down(tick.value);
    lines += fmt::format("M{} {}H{}", px(plot.left), px(y), px(plot.right));
    labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                          px(plot.left - 8), px(y + 4), tick.label);
  }
  return fmt::format(
      "<path d=\"{}\" stroke=\"{}\" fill=\"none\"/>\n"
      "<path d=\"M{} {}H{}\" stroke=\"#9aa4b5\" fill=\"none\"/>\n"
      "<g fill=\"{}\">\n{}</g>\n",
      lines, svg::grid, px(plot.left), px(plot.bottom), px(plot.right), svg::faint_ink, labels);
}

std::string series_svg(const Series& series, const Plot& plot, std::string_view colour,
                       std::string_view dash) {
  std::string path, dots;
  for (const auto& run : runs_of(series, plot)) {
    char command = 'M';
    for (const Point point : run) {
      path += fmt::format("{}{} {}", command, px(point.x), px(point.y));
      command = 'L';
    }
    if (series.markers || run.size() == 1) {  // a line through one point would not be seen
      for (const Point point : run) {
        dots += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\"/>", px(point.x), px(point.y));
      }
    }
  }
  std::string text = fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\""
      "{}><title>{}</title></path>\n",
      path, colour, dash, html_escape(series.name));
  if (!dots.empty()) {
    text += fmt::format("<g fill=\"{}\" stroke=\"#fff\">{}</g>\n", colour, dots);
  }
  return text;
}

struct Label {
  double y;
  size_t series;
};

// Labels at the ends of their lines, moved apart where they would touch.
std::vector<Label> place_labels(const std::vector<Series>& series, const Plot& plot) {
  std::vector<Label> labels;
  for (size_t i = 0; i < series.size(); ++i) {
    if (const auto runs = runs_of(series[i], plot); !series[i].name.empty() && !runs.empty()) {
      labels.push_back({runs.back().back().y, i});
    }
  }
  std::stable_sort(labels.begin(), labels.end(), [](Label a, Label b) { return a.y < b.y; });
  double free = plot.top;
  for (auto& label : labels) {
    label.y = std::max(label.y, free);
    free = label.y + label_height;
  }
  double floor = plot.bottom;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    label->y = std::min(label->y, floor);
    floor = label->y - label_height;
  }
  return labels;
}

std::string label_svg(const Series& series, double x, double y, std::string_view colour,
                      std::string_view dash) {
  std::string text = fmt::format("<path d=\"M{} {}h{}\" stroke=\"{}\" stroke-width=\"2.4\"{}/>",
                                 px(x), px(y), swatch_width, colour, dash);
  if (series.markers) {
    text += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{}\"/>",
                        px(x + swatch_width / 2), px(y), colour);
  }
  return text + fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}<title>{}</title></text>\n",
                            px(x + swatch_width + 6), px(y + 4), svg::ink,
                            html_escape(shorten_middle(series.name, label_columns)),
                            html_escape(series.name));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

Range together(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// What the points of a chart, and the ranges asked for, need room for.
struct Extent {
  Range x = {infinity, -infinity}, y = {infinity, -infinity};
  bool whole_x = true;     // every x is a whole number
  double label_width = 0;  // 0: no series has a name
  size_t label_count = 0;
};

Extent extent_of(const std::vector<Series>& series, const ChartOptions& options) {
  check(series, options);
  Extent extent;
  for (const auto& one : series) {
    for (size_t i = 0; i < one.x.size(); ++i) {
      if (is_drawable(one.x[i], one.y[i], options.log_y)) {
        extent.x = together(extent.x, {one.x[i], one.x[i]});
        extent.y = together(extent.y, {one.y[i], one.y[i]});
        extent.whole_x = extent.whole_x && one.x[i] == std::floor(one.x[i]);
      }
    }
    if (!one.name.empty()) {
      const double text = svg::text_width(shorten_middle(one.name, label_columns), 12);
      extent.label_width = std::max(extent.label_width, swatch_width + 6 + text);
      ++extent.label_count;
    }
  }
  HEED_CHECK(extent.x.low <= extent.x.high, "chart",
             "there is nothing to draw: no series has a finite point{}",
             options.log_y ? " above 0, as a log axis needs" : "");
  extent.x = together(extent.x, options.x_range.value_or(extent.x));
  extent.y = together(extent.y, options.y_range.value_or(extent.y));
  return extent;
}

std::string y_label(const ChartOptions& options) {
  if (!options.log_y) {
    return options.y_label;
  }
  return options.y_label + (options.y_label.empty() ? "" : ", ") + "logarithmic";
}

// A chart whose places are settled.
struct Frame {
  Plot plot;
  double height;
  Axis y;
  double left, right;  // the room beside the lines: for the values of y, for the names
};

Frame frame_of(const Extent& extent, const ChartOptions& options) {
  Frame frame{};
  Plot& plot = frame.plot;
  plot.log_y = options.log_y;
  plot.top = 16 + (options.title.empty() ? 0 : 24) + (y_label(options).empty() ? 0 : 20);
  frame.height = std::max<double>(
      options.height, plot.top + 54 + label_height * static_cast<double>(extent.label_count));
  plot.bottom = frame.height - (options.x_label.empty() ? 34 : 52);

  const int y_count = std::max(2, static_cast<int>((plot.bottom - plot.top) / 48));
  const Range y = padded_range(extent.y.low, extent.y.high, options.log_y);
  frame.y = options.log_y ? log_axis(y, y_count) : linear_axis(y, y_count);
  plot.y = frame.y.range;
  double tick_width = 0;
  for (const auto& tick : frame.y.ticks) {
    tick_width = std::max(tick_width, svg::text_width(tick.label, 12));
  }
  frame.left = 18 + tick_width;
  frame.right = extent.label_count > 0 ? extent.label_width + 22 : 24;
  return frame;
}

std::string chart_svg(const Chart& chart, const Extent& extent, Frame frame) {
  const auto& [series, options] = chart;
  Plot& plot = frame.plot;
  plot.left = frame.left;
  // The lines keep at least half of the picture.
  plot.right = std::max(options.width - frame.right, plot.left + options.width / 2.0);
  const double width = std::max<double>(options.width, plot.right + frame.right);
  const double beside = extent.whole_x && extent.x.low == extent.x.high ? 1 : 0;
  plot.x = padded_range(extent.x.low - beside, extent.x.high + beside, false);
  const int x_count = std::max(2, static_cast<int>((plot.right - plot.left) / 80));
  const auto x_ticks = linear_ticks(plot.x.low, plot.x.high, x_count, extent.whole_x);

  std::string picture =
      svg::open(width, frame.height, options.title.empty() ? "line chart" : options.title);
  if (!options.title.empty()) {
    picture += fmt::format(
        "<text x=\"12\" y=\"26\" font-size=\"15\" font-weight=\"600\" fill=\"{}\">{}</text>\n",
        svg::ink, html_escape(options.title));
  }
  if (const std::string label = y_label(options); !label.empty()) {
    picture += fmt::format("<text x=\"12\" y=\"{}\" fill=\"{}\">{}</text>\n", px(plot.top - 14),
                           svg::faint_ink, html_escape(label));
  }
  if (!options.x_label.empty()) {
    picture += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n",
                           px((plot.left + plot.right) / 2), px(frame.height - 12), svg::faint_ink,
                           html_escape(options.x_label));
  }
  picture += grid_svg(plot, x_ticks, frame.y.ticks);
  const auto colour = [](size_t i) { return palette[i % palette.size()]; };
  const auto dash = [](size_t i) { return dashes[i / palette.size() % dashes.size()]; };
  for (size_t i = 0; i < series.size(); ++i) {
    picture += series_svg(series[i], plot, colour(i), dash(i));
  }
  for (const auto& [at, i] : place_labels(series, plot)) {
    picture += label_svg(series[i], plot.right + 8, at, colour(i), dash(i));
  }
  return picture + "</svg>\n";
}

}  // namespace

bool is_drawable(double value) { return std::abs(value) < drawable; }

std::vector<std::string> line_charts_svg(const std::vector<Chart>& charts) {
  std::vector<Extent> extents;
  std::vector<Frame> frames;
  Extent shared;
  double left = 0, right = 0;
  for (const Chart& chart : charts) {
    const Extent& extent = extents.emplace_back(extent_of(chart.series, chart.options));
    const Frame& frame = frames.emplace_back(frame_of(extent, chart.options));
    shared.x = together(shared.x, extent.x);
    shared.whole_x = shared.whole_x && extent.whole_x;
    left = std::max(left, frame.left);
    right = std::max(right, frame.right);
  }
  std::vector<std::string> pictures;
  for (size_t i = 0; i < charts.size(); ++i) {
    extents[i].x = shared.x;
    extents[i].whole_x = shared.whole_x;
    frames[i].left = left;
    frames[i].right = right;
    pictures.push_back(chart_svg(charts[i], extents[i], std::move(frames[i])));
  }
  return pictures;
}

std::string line_chart_svg(const std::vector<Series>& series, const ChartOptions& options) {
  return line_charts_svg({{series, options}}).front();
}

}  // namespace heed::train
