#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/error.h"
#include "train/report/alignment.h"
#include "train/report/alignment_check.h"
#include "train/report/display_width.h"

namespace heed::train {
namespace {

constexpr int narrowest = 20;
constexpr int longest_label = 24;

std::string cell_text(float weight, int width, bool colour) {
  const double share = std::clamp<double>(weight, 0, 1);
  if (colour) {  // the 24 greys of the 256 colours, black to white as in the paper
    return fmt::format("\x1b[48;5;{}m{:{}}\x1b[0m", 232 + std::lround(23 * share), "", width);
  }
  constexpr std::array<std::string_view, 4> shades = {"░", "▒", "▓", "█"};
  std::string text;
  if (share < 0.05) {
    return std::string(static_cast<size_t>(width - 1), ' ') + "·";
  }
  const auto shade = std::min(static_cast<size_t>(share * shades.size()), shades.size() - 1);
  for (int i = 0; i < width; ++i) {
    text += shades[shade];
  }
  return text;
}

// "1 the  2 cat  3 sat", never broken within a pair that fits.
std::string legend_text(const std::vector<std::string>& words, size_t first, size_t last,
                        int terminal_width) {
  std::string text, line;
  for (size_t i = first; i < last; ++i) {
    const std::string entry = shorten(fmt::format("{} {}", i + 1, words[i]), terminal_width);
    if (!line.empty() && display_width(line) + 2 + display_width(entry) > terminal_width) {
      text += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + entry;
  }
  return text + line + '\n';
}

}  // namespace

void check_alignment(const AlignmentPicture& picture) {
  const size_t targets = picture.target.size(), sources = picture.source.size();
  HEED_CHECK(sources > 0, "alignment", "there is no source word");
  HEED_CHECK(targets > 0, "alignment", "there is no target word");
  HEED_CHECK(picture.weights.size() == targets * sources, "alignment",
             "weights have {} values, target ({}) x source ({}) needs {}", picture.weights.size(),
             targets, sources, targets * sources);
  for (size_t i = 0; i < picture.weights.size(); ++i) {
    HEED_CHECK(std::isfinite(picture.weights[i]), "alignment",
               "the weight of target word {} and source word {} is {}", i / sources + 1,
               i % sources + 1, picture.weights[i]);
  }
}

std::string alignment_text(const AlignmentPicture& picture, int terminal_width, bool colour) {
  check_alignment(picture);
  terminal_width = std::max(terminal_width, narrowest);
  const size_t sources = picture.source.size();
  const int cell = 1 + static_cast<int>(std::to_string(sources).size());

  int label = 0;
  for (const auto& word : picture.target) {
    label = std::max(label, display_width(word));
  }
  label = std::min({label, longest_label, terminal_width / 3});
  const auto room = static_cast<size_t>(std::max(1, (terminal_width - label - 1) / cell));
  const size_t strips = (sources + room - 1) / room;
  const size_t strip = (sources + strips - 1) / strips;  // of about equal width

  std::string text;
  if (!picture.caption.empty()) {
    for (const auto& line : wrap(picture.caption, terminal_width)) {
      text += line + '\n';
    }
  }
  for (size_t first = 0; first < sources; first += strip) {
    const size_t last = std::min(first + strip, sources);
    text += first > 0 ? "\n" : "";
    text.append(static_cast<size_t>(label) + 1, ' ');
    for (size_t column = first; column < last; ++column) {
      text += fmt::format("{:>{}}", column + 1, cell);
    }
    text += '\n';
    for (size_t row = 0; row < picture.target.size(); ++row) {
      text += pad(shorten(picture.target[row], label), label, true) + ' ';
      for (size_t column = first; column < last; ++column) {
        text += cell_text(picture.weights[row * sources + column], cell, colour);
      }
      text += '\n';
    }
    text += legend_text(picture.source, first, last, terminal_width);
  }
  return text;
}

}  // namespace heed::train
