#include "train/report/svg.h"

#include <fmt/core.h>

#include <cmath>

#include "train/report/display_width.h"
#include "train/report/page.h"

namespace heed::train::svg {
namespace {

// A picture within a picture has been turned with it. White becomes the dark of a page (page.cpp).
constexpr std::string_view dark_style =
    "<style>@media (prefers-color-scheme: dark) { "
    "svg.heed { filter: invert(.92) hue-rotate(180deg); } svg.heed svg { filter: none; } }</style>";

}  // namespace

std::string open(double width, double height, std::string_view label) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\" direction=\"ltr\" "
      "font-family=\"{3}\" font-size=\"12\" class=\"heed\">\n{4}\n"
      "<rect width=\"{0}\" height=\"{1}\" rx=\"6\" fill=\"#fff\"/>\n",
      px(width), px(height), html_escape(label), font, dark_style);
}

double text_width(std::string_view text, double font_size) {
  return 0.6 * font_size * display_width(text);
}

std::string px(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

}  // namespace heed::train::svg
