#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::test {

inline size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Every <text> of an SVG that holds nothing but text.
inline std::vector<std::string> texts_of(const std::string& svg) {
  std::vector<std::string> texts;
  for (size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) {
    const size_t start = svg.find('>', at) + 1;
    texts.push_back(svg.substr(start, svg.find('<', start) - start));
  }
  return texts;
}

// Every <svg> of a page.
inline std::vector<std::string> svgs_of(const std::string& page) {
  std::vector<std::string> svgs;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) {
    svgs.push_back(page.substr(at, page.find("</svg>", at) + 7 - at));
  }
  return svgs;
}

// Where the vertical lines of a chart's grid stand, and how far its horizontal ones go.
inline std::string grid_across(const std::string& chart) {
  const size_t start = chart.find("<path d=\"M") + 9;
  const std::string path = chart.substr(start, chart.find('"', start) - start);
  std::string across;
  for (size_t at = path.find('M'); at != std::string::npos; at = path.find('M', at + 1)) {
    const size_t end = path.find('M', at + 1);
    const std::string line = path.substr(at, end - at);  // "M70 60V368" or "M70 60H475"
    if (const size_t far = line.find('H'); far != std::string::npos) {
      return across + line.substr(1, line.find(' ')) + "to " + line.substr(far + 1);
    }
    across += line.substr(1, line.find(' '));
  }
  return across;
}

}  // namespace heed::test
