#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

namespace heed::train {

// The attention of one sentence pair: weights (target, source), row-major, each from 0 to 1.
struct AlignmentPicture {
  std::vector<std::string> source, target;
  std::vector<float> weights;
  std::string caption;
};

// The pictures of Bahdanau et al. 2015, figure 3, on a white page: source words across the top,
// target words down, the stronger a cell the greater its weight. All of these throw Error when
// source or target is empty or the weights do not fit them.

// One self-contained <svg> element; every word and every cell has its text as a <title>.
HEED_EXPORT std::string alignment_svg(const AlignmentPicture& picture);

// One page that works offline: pointing at a cell marks its row and column and shows its value.
// `note` says more of what is shown.
HEED_EXPORT std::string alignments_html(std::string_view title,
                                        const std::vector<AlignmentPicture>& pictures,
                                        std::string_view note = "");

// What alignments_html puts on a page, for a page with more on it (see page.h).
HEED_EXPORT std::string alignments_section(const std::vector<AlignmentPicture>& pictures);

// Small pictures of one sentence pair, each over its caption: a row of heads for each layer.
HEED_EXPORT std::string heads_figure(const std::string& caption,
                                     const std::vector<std::vector<AlignmentPicture>>& layers);

// For a terminal: shade blocks, target words as row labels, source words numbered beneath. A
// picture wider than the terminal is cut into strips of source words. Ends with a newline.
HEED_EXPORT std::string alignment_text(const AlignmentPicture& picture, int terminal_width = 80,
                                       bool colour = false);

}  // namespace heed::train
