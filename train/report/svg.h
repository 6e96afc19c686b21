#pragma once

#include <string>
#include <string_view>

// What the charts and the alignment pictures share. Colours and fonts are attributes, those of a
// light page: a <style> inside an <svg> leaks into the page around it. The one there is turns light
// into dark, hues kept, where the reader prefers that.
namespace heed::train::svg {

inline constexpr std::string_view font =
    "system-ui, -apple-system, &#39;Segoe UI&#39;, &#39;Noto Sans&#39;, sans-serif";
inline constexpr std::string_view ink = "#1f2430";
inline constexpr std::string_view faint_ink = "#5b6472";
inline constexpr std::string_view grid = "#e4e8ee";

// <svg> of that size in pixels on a white ground, to be closed by </svg>. label is text.
std::string open(double width, double height, std::string_view label);

// A rough width in pixels, on the generous side: no font is at hand.
double text_width(std::string_view text, double font_size);

// A length in pixels with at most one digit after the point.
std::string px(double value);

}  // namespace heed::train::svg
