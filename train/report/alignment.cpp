#include "train/report/alignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "train/report/alignment_check.h"
#include "train/report/display_width.h"
#include "train/report/page.h"
#include "train/report/svg.h"

namespace heed::train {
namespace {

using svg::px;

constexpr double font_size = 13;
constexpr double cell = 24;
constexpr double margin = 14;
constexpr double angle = 55;  // of the source words, degrees
constexpr int source_columns = 20, target_columns = 24, caption_columns = 60;
constexpr double caption_line = 18;
constexpr int scale_steps = 24;
constexpr double scale_step = 5, scale_height = 10;
constexpr double name_size = 11;  // of the axes and the scale
constexpr std::string_view scale_name = "attention weight", row_name = "translation";

// White to dark blue, ever darker, so that it prints in grey as well.
std::string colour_of(float weight) {
  constexpr std::array<std::array<double, 3>, 5> stops = {
      {{255, 255, 255}, {190, 214, 238}, {107, 161, 213}, {41, 98, 165}, {10, 42, 92}}};
  const double at = std::clamp<double>(weight, 0, 1) * (stops.size() - 1);
  const auto low = std::min(static_cast<size_t>(at), stops.size() - 2);
  std::string colour = "#";
  for (size_t channel = 0; channel < 3; ++channel) {
    const double value =
        std::lerp(stops[low][channel], stops[low + 1][channel], at - static_cast<double>(low));
    colour += fmt::format("{:02x}", static_cast<int>(std::lround(value)));
  }
  return colour;
}

// A word inside a line of another direction (Unicode's first strong isolate).
std::string isolated(const std::string& word) {
  return "\u2068" + html_escape(printable(word)) + "\u2069";
}

double scale_name_at() { return 16 + scale_steps * scale_step + svg::text_width("1  ", name_size); }

double scale_width() { return scale_name_at() + svg::text_width(scale_name, name_size); }

std::string scale_svg(double x, double y) {
  std::string scale = fmt::format(
      "<g fill=\"{0}\" font-size=\"{5}\"><text x=\"{1}\" y=\"{3}\">0</text>"
      "<text x=\"{2}\" y=\"{3}\">1</text><text x=\"{4}\" y=\"{3}\">{6}</text></g>\n<g>",
      svg::faint_ink, px(x), px(x + 16 + scale_steps * scale_step), px(y + 9),
      px(x + scale_name_at()), name_size, scale_name);
  for (int i = 0; i < scale_steps; ++i) {
    const auto weight = static_cast<float>(i) / (scale_steps - 1);
    scale += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                         px(x + 11 + i * scale_step), px(y), px(scale_step), px(scale_height),
                         colour_of(weight));
  }
  return scale + fmt::format(
                     "</g>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
                     "stroke=\"#c3cad5\"/>\n",
                     px(x + 11), px(y), px(scale_steps * scale_step), px(scale_height));
}

std::string word_svg(const std::string& word, int columns, std::string_view place) {
  return fmt::format("<text {} style=\"unicode-bidi:plaintext\">{}<title>{}</title></text>\n",
                     place, html_escape(shorten(word, columns)), isolated(word));
}

// Where the matrix lies and how the source words stand above it.
struct Layout {
  double left, top, right, bottom, width;
  bool upright;
};

Layout layout_of(const AlignmentPicture& picture) {
  double target = svg::text_width(row_name, name_size), widest = 0, rise = 0, overhang = 0;
  for (const auto& word : picture.target) {
    target = std::max(target, svg::text_width(shorten(word, target_columns), font_size));
  }
  std::vector<double> widths;
  for (const auto& word : picture.source) {
    widths.push_back(svg::text_width(shorten(word, source_columns), font_size));
    widest = std::max(widest, widths.back());
  }
  Layout layout{};
  layout.upright = widest <= cell - 2;
  const double matrix = cell * static_cast<double>(widths.size());
  if (layout.upright) {
    rise = font_size + 4;
  } else {
    constexpr double radians = angle * std::numbers::pi / 180;
    rise = widest * std::sin(radians) + font_size;
    for (size_t i = 0; i < widths.size(); ++i) {
      const double end = cell * (static_cast<double>(i) + 0.5) + widths[i] * std::cos(radians);
      overhang = std::max(overhang, end + font_size / 2 - matrix);
    }
  }
  layout.left = margin + target + 8;
  layout.top = margin + name_size + 6 + rise;
  layout.right = layout.left + matrix;
  layout.bottom = layout.top + cell * static_cast<double>(picture.target.size());
  layout.width =
      std::max(layout.right + std::max(overhang, margin), layout.left + scale_width() + margin);
  return layout;
}

std::string words_svg(const AlignmentPicture& picture, const Layout& layout) {
  std::string text = fmt::format(
      "<g fill=\"{0}\" font-size=\"{1}\">\n<text x=\"{2}\" y=\"{3}\">source</text>\n"
      "<text x=\"{4}\" y=\"{5}\" text-anchor=\"end\">{6}</text>\n</g>\n",
      svg::faint_ink, name_size, px(layout.left), px(margin + name_size - 2), px(layout.left - 8),
      px(layout.top - 6), row_name);
  text += fmt::format("<g class=\"source\" fill=\"{}\" font-size=\"{}\"{}>\n", svg::ink, font_size,
                      layout.upright ? " text-anchor=\"middle\"" : "");
  for (size_t i = 0; i < picture.source.size(); ++i) {
    const double x = layout.left + cell * (static_cast<double>(i) + 0.5);
    text += word_svg(picture.source[i], source_columns,
                     layout.upright
                         ? fmt::format("x=\"{}\" y=\"{}\"", px(x), px(layout.top - 6))
                         : fmt::format("transform=\"translate({} {}) rotate(-{})\"",
                                       px(x + font_size / 3), px(layout.top - 6), px(angle)));
  }
  text +=
      fmt::format("</g>\n<g class=\"target\" fill=\"{}\" font-size=\"{}\" text-anchor=\"end\">\n",
                  svg::ink, font_size);
  for (size_t i = 0; i < picture.target.size(); ++i) {
    const double y = layout.top + cell * (static_cast<double>(i) + 0.5) + font_size * 0.35;
    text += word_svg(picture.target[i], target_columns,
                     fmt::format("x=\"{}\" y=\"{}\"", px(layout.left - 8), px(y)));
  }
  return text + "</g>\n";
}

std::string cells_svg(const AlignmentPicture& picture, const Layout& layout) {
  const size_t columns = picture.source.size();
  std::string text = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#d5dbe4\"/>\n<g "
      "class=\"cells\">\n",
      px(layout.left - 1), px(layout.top - 1), px(layout.right - layout.left + 1),
      px(layout.bottom - layout.top + 1));
  for (size_t row = 0; row < picture.target.size(); ++row) {
    text += "<g>";
    for (size_t column = 0; column < columns; ++column) {
      const float weight = picture.weights[row * columns + column];
      text += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{} ← {}: {:.3f}"
          "</title></rect>\n",
          px(layout.left + cell * static_cast<double>(column)),
          px(layout.top + cell * static_cast<double>(row)), px(cell - 1), px(cell - 1),
          colour_of(weight), isolated(picture.target[row]), isolated(picture.source[column]),
          weight);
    }
    text += "</g>\n";
  }
  return text + "</g>\n";
}

std::string picture_svg(const AlignmentPicture& picture, bool complete) {
  check_alignment(picture);
  const Layout layout = layout_of(picture);
  double width = layout.width, height = layout.bottom + margin;
  std::vector<std::string> caption;
  if (complete) {
    height += scale_height + margin;
    if (!picture.caption.empty()) {
      const int columns = static_cast<int>((width - 2 * margin) / (0.6 * font_size));
      caption = wrap(picture.caption, std::max(columns, caption_columns));
      for (const auto& line : caption) {
        width = std::max(width, svg::text_width(line, font_size) + 2 * margin);
      }
      height += caption_line * static_cast<double>(caption.size()) + 6;
    }
  }
  std::string text =
      svg::open(width, height, picture.caption.empty() ? "attention weights" : picture.caption);
  text += words_svg(picture, layout);
  text += cells_svg(picture, layout);
  if (complete) {
    text += scale_svg(layout.left, layout.bottom + margin);
    double y = layout.bottom + 2 * margin + scale_height + font_size + 2;
    for (const auto& line : caption) {
      text += fmt::format(
          "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" "
          "style=\"unicode-bidi:plaintext\">{}</text>\n",
          px(margin), px(y), font_size, svg::ink, html_escape(line));
      y += caption_line;
    }
  }
  return text + "</svg>\n";
}

// Words upright over their columns, target words beside the first of a row of pictures, the caption
// beneath.
std::string small_svg(const AlignmentPicture& picture, bool first) {
  check_alignment(picture);
  constexpr double side = 9, words = 8, label = 11, edge = 2;
  constexpr int word_columns = 12;
  constexpr float faintest = 0.02F;  // what is fainter stays white: there are many pictures
  const auto room = [](const std::vector<std::string>& all) {
    double widest = 0;
    for (const auto& word : all) {
      widest = std::max(widest, svg::text_width(shorten(word, word_columns), words));
    }
    return widest + 2 * edge;
  };
  const size_t columns = picture.source.size(), rows = picture.target.size();
  const double left = edge + (first ? room(picture.target) : 0), top = edge + room(picture.source);
  const double right = left + side * static_cast<double>(columns);
  const double bottom = top + side * static_cast<double>(rows);
  const double width = std::max(right, left + svg::text_width(picture.caption, label)) + edge;
  const auto middle = [](double from, size_t i) {
    return from + side * (static_cast<double>(i) + 0.5) + words * 0.35;
  };
  std::string text = svg::open(width, bottom + label + 2 * edge, picture.caption);
  text += fmt::format("<g fill=\"{}\" font-size=\"{}\">\n", svg::ink, words);
  for (size_t column = 0; column < columns; ++column) {
    text += word_svg(picture.source[column], word_columns,
                     fmt::format("transform=\"translate({} {}) rotate(-90)\"",
                                 px(middle(left, column)), px(top - edge)));
  }
  for (size_t row = 0; first && row < rows; ++row) {
    text += word_svg(picture.target[row], word_columns,
                     fmt::format("x=\"{}\" y=\"{}\" text-anchor=\"end\"", px(left - edge),
                                 px(middle(top, row))));
  }
  text += fmt::format(
      "</g>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#fff\" "
      "stroke=\"#d5dbe4\"/>\n",
      px(left), px(top), px(right - left), px(bottom - top));
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const float weight = picture.weights[row * columns + column];
      if (weight >= faintest) {
        text += fmt::format(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{} ← {}: {:.2f}"
            "</title></rect>\n",
            px(left + side * static_cast<double>(column)),
            px(top + side * static_cast<double>(row)), px(side), px(side), colour_of(weight),
            isolated(picture.target[row]), isolated(picture.source[column]), weight);
      }
    }
  }
  return text +
         fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text></svg>\n",
                     px(left), px(bottom + label), label, svg::faint_ink,
                     html_escape(picture.caption));
}

// Marks the row, the column and the two words of the cell that is pointed at.
constexpr std::string_view script = R"js(<script>
document.querySelectorAll('figure.alignment').forEach(figure => {
  const svg = figure.querySelector('svg'), output = figure.querySelector('output');
  const cells = svg.querySelector('.cells');
  const words = name => svg.querySelectorAll('.' + name + ' text');
  const clear = () => {
    svg.querySelectorAll('.on').forEach(word => word.classList.remove('on'));
    svg.querySelectorAll('.band').forEach(band => band.remove());
    output.textContent = '';
  };
  const band = (from, to) => {
    const box = document.createElementNS(svg.namespaceURI, 'rect');
    const at = (cell, name) => +cell.getAttribute(name);
    box.setAttribute('class', 'band');
    box.setAttribute('x', at(from, 'x') - .5);
    box.setAttribute('y', at(from, 'y') - .5);
    box.setAttribute('width', at(to, 'x') - at(from, 'x') + at(to, 'width') + 1);
    box.setAttribute('height', at(to, 'y') - at(from, 'y') + at(to, 'height') + 1);
    svg.append(box);
  };
  cells.addEventListener('mouseover', event => {
    const cell = event.target.closest('rect');
    if (!cell) return;
    clear();
    const row = cell.parentNode, column = [...row.children].indexOf(cell);
    band(row.firstElementChild, row.lastElementChild);
    band(cells.firstElementChild.children[column], cells.lastElementChild.children[column]);
    words('target')[[...cells.children].indexOf(row)].classList.add('on');
    words('source')[column].classList.add('on');
    output.textContent = cell.textContent;
  });
  cells.addEventListener('mouseleave', clear);
});
</script>
)js";

}  // namespace

std::string alignment_svg(const AlignmentPicture& picture) { return picture_svg(picture, true); }

std::string alignments_section(const std::vector<AlignmentPicture>& pictures) {
  std::string section;
  if (!pictures.empty()) {
    section = svg::open(24 + scale_width(), 30, "attention weights from 0 to 1") +
              scale_svg(12, 10) + "</svg>\n<div class=\"alignments\">\n";
  }
  for (const auto& picture : pictures) {
    section += fmt::format(
        "<figure class=\"alignment\">\n<figcaption>{}<output></output></figcaption>\n{}"
        "</figure>\n",
        html_escape(picture.caption), picture_svg(picture, false));
  }
  return section + (pictures.empty() ? "" : "</div>\n") + std::string(script);
}

std::string heads_figure(const std::string& caption,
                         const std::vector<std::vector<AlignmentPicture>>& layers) {
  std::string figure =
      fmt::format("<figure class=\"heads\">\n<figcaption>{}</figcaption>\n", html_escape(caption));
  for (const auto& heads : layers) {
    figure += "<div class=\"layer\">\n";
    for (const auto& picture : heads) {
      figure += small_svg(picture, &picture == &heads.front());
    }
    figure += "</div>\n";
  }
  return figure + "</figure>\n";
}

std::string alignments_html(std::string_view title, const std::vector<AlignmentPicture>& pictures,
                            std::string_view note) {
  return html_page(
      title, {{"", alignments_section(pictures)}},
      fmt::format(
          "Each row is a word of the translation, each column a word of the source; the stronger "
          "the colour of a cell, the more attention the source word got.{}{}",
          note.empty() ? "" : " ", note));
}

}  // namespace heed::train
