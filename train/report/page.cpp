#include "train/report/page.h"

#include <fmt/core.h>

#include "core/error.h"
#include "data/utf8.h"

namespace heed::train {
namespace {

// The rules for alignments belong to alignments_section, those for charts to curve_sections. A
// caption is as wide as its picture.
constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --ink: #1f2430; --faint: #667085; --line: #d9dee7; --page: #fff;
  --mark: #d55e00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --faint: #9aa4b5; --line: #3a4252; --page: #141414; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 76rem; color: var(--ink);
  background: var(--page); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .8rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
p.introduction { color: var(--faint); margin: 0; white-space: pre-line; }
svg { max-width: 100%; height: auto; margin: 0 .6rem .8rem 0; }
pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem .35rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); unicode-bidi: plaintext; overflow-wrap: anywhere; }
th { color: var(--faint); font-weight: 600; }
td.number, th.number { text-align: right; white-space: nowrap; }
div.charts { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
div.charts svg { width: 100%; max-width: 48rem; margin: 0; }
div.alignments { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 1.4rem 2.2rem; }
figure.alignment { margin: 0; max-width: 100%; min-width: 14rem; break-inside: avoid;
  overflow-x: auto; }
figure.alignment figcaption { width: 0; min-width: 100%; }
figure.alignment svg { max-width: none; margin: 0; }
figure.alignment svg text.on { font-weight: 700; fill: #b34700; }
figure.alignment rect.band { fill: none; stroke: var(--mark); stroke-width: 1.5;
  pointer-events: none; }
figure.heads { margin: 0 0 2.2rem; overflow-x: auto; }
div.layer { white-space: nowrap; }
div.layer svg { max-width: none; }
figcaption { margin: .3rem 0; unicode-bidi: plaintext; }
figcaption output { display: block; min-height: 1.5em; color: var(--faint); }
@media print {
  :root { --ink: #000; --faint: #444; --line: #ccc; --page: #fff; }
  body { padding: 0; max-width: none; }
  figure.alignment { overflow: visible; }
  figure.alignment svg { max-width: 100%; }
  figcaption output { display: none; } }
)css";

// What XML does not allow, and the controls of ISO 8859, which HTML does not.
bool is_forbidden(char32_t point) {
  return point >= data::stray_byte ||
         (point < 0x20 && point != '\t' && point != '\n' && point != '\r') ||
         (point >= 0x7F && point < 0xA0) || (point & 0xFFFE) == 0xFFFE;
}

}  // namespace

std::string html_escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const auto [point, bytes] = data::first_code_point(text);
    if (point == '&') {
      escaped += "&amp;";
    } else if (point == '<') {
      escaped += "&lt;";
    } else if (point == '>') {
      escaped += "&gt;";
    } else if (point == '"') {
      escaped += "&quot;";
    } else if (point == '\'') {
      escaped += "&#39;";
    } else if (is_forbidden(point)) {
      escaped += "\uFFFD";
    } else {
      escaped += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return escaped;
}

std::string html_page(std::string_view title, const std::vector<PageSection>& sections,
                      std::string_view introduction) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      html_escape(title), style);
  if (!introduction.empty()) {
    page += fmt::format("<p class=\"introduction\">{}</p>\n", html_escape(introduction));
  }
  for (const auto& section : sections) {
    page += "<section>\n";
    if (!section.heading.empty()) {
      page += fmt::format("<h2>{}</h2>\n", html_escape(section.heading));
    }
    page += section.body;
    page += "\n</section>\n";
  }
  return page + "</body>\n</html>\n";
}

std::string html_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows,
                       const std::vector<bool>& right_aligned) {
  const auto cells = [&](const std::vector<std::string>& row, std::string_view element) {
    std::string text = "<tr>";
    for (size_t column = 0; column < row.size(); ++column) {
      const bool number = column < right_aligned.size() && right_aligned[column];
      text += fmt::format("<{0}{1}>{2}</{0}>", element, number ? " class=\"number\"" : "",
                          html_escape(row[column]));
    }
    return text + "</tr>\n";
  };
  std::string table = "<table>\n<thead>\n" + cells(header, "th") + "</thead>\n<tbody>\n";
  for (const auto& row : rows) {
    HEED_CHECK(row.size() == header.size(), "table", "a row has {} cells, the header has {}",
               row.size(), header.size());
    table += cells(row, "td");
  }
  return table + "</tbody>\n</table>\n";
}

}  // namespace heed::train
