#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/train/svg_text.h"
#include "train/report/alignment.h"
#include "train/report/chart.h"
#include "train/report/display_width.h"
#include "train/report/page.h"
#include "train/report/table.h"

namespace heed::train {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

using test::count_of;
using test::texts_of;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<int> widths_of(const std::string& text) {
  std::vector<int> widths;
  for (const auto& line : lines_of(text)) {
    widths.push_back(display_width(line));
  }
  return widths;
}

// What is wrong with the tags of an SVG or an HTML page; empty when they are balanced.
std::string tag_mistake(std::string_view text) {
  std::vector<std::string> open;
  for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    if (end == std::string_view::npos) {
      return "a tag is not closed";
    }
    std::string_view tag = text.substr(at + 1, end - at - 1);
    const bool closing = tag.starts_with('/');
    tag.remove_prefix(closing ? 1 : 0);
    const std::string name(tag.substr(0, tag.find_first_of(" /")));
    if (tag.starts_with('!') || tag.ends_with('/') || name == "meta") {
      continue;
    }
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0) {
      return "a bare <";
    }
    if (!closing) {
      open.push_back(name);
      if (name == "script" || name == "style") {  // up to its end nothing is a tag
        at = text.find("</" + name, at) - 1;
      }
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

TEST(TagMistake, SeesMistakes) {
  EXPECT_EQ(tag_mistake("<a><b/>x</a>"), "");
  EXPECT_EQ(tag_mistake("<a><b></a>"), "</a> closes b");
  EXPECT_EQ(tag_mistake("<a>"), "<a> stays open");
  EXPECT_EQ(tag_mistake("<a>1 < 2</a>"), "a bare <");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("août"), 4);
  EXPECT_EQ(display_width("aou\u0302t"), 4);
  EXPECT_EQ(display_width("東京です。"), 10);
  EXPECT_EQ(display_width("نأمل"), 4);
  EXPECT_EQ(display_width("a\xFF\x80z"), 4);
  EXPECT_EQ(display_width("a\tb\x1b"), 4);
}

TEST(DisplayWidth, MakesTextPrintable) {
  EXPECT_EQ(printable("a\tb\nc\u3000d\u2028e"), "a b c d e");
  EXPECT_EQ(printable("\x1b[31m\xC3(\u202Ex"), "\uFFFD[31m\uFFFD(\uFFFDx");
}

TEST(DisplayWidth, Shortens) {
  EXPECT_EQ(shorten("agreement", 9), "agreement");
  EXPECT_EQ(shorten("agreement", 8), "agreeme…");
  EXPECT_EQ(shorten("東京です", 6), "東京…");
  EXPECT_EQ(shorten("e\u0301e\u0301e\u0301", 2), "e\u0301…");
  EXPECT_EQ(shorten("agreement", 1), "…");
  EXPECT_EQ(shorten("agreement", 0), "");
  EXPECT_EQ(shorten_middle("agreement", 9), "agreement");
  EXPECT_EQ(shorten_middle("agreement", 8), "agre…ent");
  EXPECT_EQ(shorten_middle("agreement", 7), "agr…ent");
  EXPECT_EQ(shorten_middle("東京です", 6), "東…す");
  EXPECT_EQ(shorten_middle("東京です", 4), "…す");
  EXPECT_EQ(shorten_middle("ae\u0301ae\u0301ae\u0301", 3), "a…e\u0301");
  EXPECT_EQ(shorten_middle("agreement", 2), "a…");
  EXPECT_EQ(shorten_middle("agreement", 1), "…");
  EXPECT_EQ(shorten_middle("agreement", 0), "");
}

TEST(DisplayWidth, Pads) {
  EXPECT_EQ(pad("東京", 6), "東京  ");
  EXPECT_EQ(pad("e\u0301", 3, true), "  e\u0301");
  EXPECT_EQ(pad("long", 2), "long");
}

TEST(DisplayWidth, Wraps) {
  EXPECT_THAT(wrap("the cat  sleeps in the garden", 10),
              ElementsAre("the cat", "sleeps in", "the garden"));
  EXPECT_THAT(wrap("ab 東京です cd", 5), ElementsAre("ab", "東京", "です", "cd"));
  EXPECT_THAT(wrap("", 10), ElementsAre(""));
  EXPECT_THAT(wrap("東京", 1), ElementsAre("東", "京"));
}

TEST(TextTable, AlignsByDisplayWidth) {
  TextTable table({"split", "word", "BLEU"}, {false, false, true});
  table.add({"validation", "東京", "26.75"});
  table.add({"test", "Cafe\u0301", "7.1"});
  table.add({"x", "", ""});
  EXPECT_EQ(table.text(),
            "split       word   BLEU\n"
            "----------  ----  -----\n"
            "validation  東京  26.75\n"
            "test        Cafe\u0301    7.1\n"
            "x\n");
}

TEST(TextTable, RefusesWhatDoesNotFit) {
  EXPECT_EQ(test::error_of([] { TextTable table({}); }),
            "[table] a table needs at least one column");
  EXPECT_EQ(test::error_of([] {
              TextTable table({"a"}, {true, false});
            }),
            "[table] alignments are given for 2 columns, the header has 1");
  EXPECT_EQ(test::error_of([] {
              TextTable table({"a", "b"});
              table.add({"1"});
            }),
            "[table] a row has 1 cells, the header has 2");
}

TEST(Page, Escapes) {
  EXPECT_EQ(html_escape("<a href=\"x\">'&amp;' é東</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39; é東&lt;/a&gt;");
  EXPECT_EQ(html_escape("a\x01\xFF\x1b\n\t\u0085\uFFFFz"), "a\uFFFD\uFFFD\uFFFD\n\t\uFFFD\uFFFDz");
  EXPECT_EQ(html_escape(std::string_view("a\0b", 3)), "a\uFFFDb");
}

TEST(Page, IsSelfContained) {
  const std::string page =
      html_page("Run <1>", {{"Curves & more", "<p>body</p>"}, {"", "x"}}, "seed \"1\"");
  EXPECT_EQ(tag_mistake(page), "");
  EXPECT_THAT(page,
              AllOf(HasSubstr("<title>Run &lt;1&gt;</title>"), HasSubstr("<h1>Run &lt;1&gt;</h1>"),
                    HasSubstr("<p>body</p>"), HasSubstr("<h2>Curves &amp; more</h2>"),
                    HasSubstr("seed &quot;1&quot;"), Not(HasSubstr("http"))));
  EXPECT_EQ(count_of(page, "<h2>"), 1U);
}

TEST(Page, MakesTables) {
  const std::string table = html_table({"source", "BLEU"}, {{"a < b", "7.5"}}, {false, true});
  EXPECT_EQ(table,
            "<table>\n<thead>\n<tr><th>source</th><th class=\"number\">BLEU</th></tr>\n"
            "</thead>\n<tbody>\n<tr><td>a &lt; b</td><td class=\"number\">7.5</td></tr>\n"
            "</tbody>\n</table>\n");
  EXPECT_EQ(test::error_of([] {
              html_table({"a", "b"}, {{"1", "2", "3"}});
            }),
            "[table] a row has 3 cells, the header has 2");
}

ChartOptions chart_options(std::string title, std::string x_label, std::string y_label, int width,
                           int height) {
  ChartOptions options;
  options.title = std::move(title);
  options.x_label = std::move(x_label);
  options.y_label = std::move(y_label);
  options.width = width;
  options.height = height;
  return options;
}

TEST(Chart, DrawsLinesWithTheirNames) {
  const std::string svg = line_chart_svg(
      {{"training <a>", {0, 50, 100}, {4, 2, 1}, false}, {"validation", {0, 100}, {5, 2}, true}},
      chart_options("Loss & more", "step", "nats", 640, 400));
  EXPECT_EQ(tag_mistake(svg), "");
  EXPECT_TRUE(
      svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" "
                      "height=\"400\" viewBox=\"0 0 640 400\" role=\"img\" "
                      "aria-label=\"Loss &amp; more\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(texts_of(svg),
              ElementsAre("Loss &amp; more", "nats", "step", "0", "20", "40", "60", "80", "100",
                          "1", "2", "3", "4", "5", "validation", "training &lt;a&gt;"));
  EXPECT_EQ(count_of(svg, "<circle"), 3U);  // two points and the key
}

std::vector<std::string> tick_labels(double low, double high, bool log = false) {
  ChartOptions options = chart_options("", "", "", 240, 200);
  options.log_y = log;
  return texts_of(line_chart_svg({{"", {0, 1}, {low, high}, false}}, options));
}

// Any other rule of a <style> would reach the page around the picture.
TEST(Chart, TurnsDarkWhereTheReaderPrefersThat) {
  const std::string svg = line_chart_svg({{"", {0, 1}, {1, 2}, false}});
  const size_t start = svg.find("<style>");
  EXPECT_NE(svg.find(" class=\"heed\">"), std::string::npos);
  EXPECT_EQ(svg.substr(start, svg.find("</style>") - start),
            "<style>@media (prefers-color-scheme: dark) { svg.heed { filter: invert(.92) "
            "hue-rotate(180deg); } svg.heed svg { filter: none; } }");
}

TEST(Chart, ChoosesTicks) {
  const auto x = [](std::vector<std::string> y) {
    y.insert(y.begin(), {"0", "1"});
    return y;
  };
  EXPECT_EQ(tick_labels(0, 1e-3), x({"0", "0.0005", "0.0010"}));
  EXPECT_EQ(tick_labels(0, 4e-7), x({"0", "2e-7", "4e-7"}));
  EXPECT_EQ(tick_labels(-3, 7), x({"-5", "0", "5", "10"}));
  EXPECT_EQ(tick_labels(0, 60000), x({"0", "20k", "40k", "60k"}));
  EXPECT_EQ(tick_labels(5, 5), x({"4.5", "5.0", "5.5"}));
  EXPECT_EQ(tick_labels(0, 0), x({"-1", "0", "1"}));
}

TEST(Chart, SaysThatAnAxisIsLogarithmicAndGivesItTicks) {
  const auto labels = [](double low, double high) {
    const auto all = tick_labels(low, high, true);
    EXPECT_EQ(all.front(), "logarithmic");
    return std::vector(all.begin() + 3, all.end());  // after it and the two of x
  };
  EXPECT_THAT(labels(1, 10000), ElementsAre("1", "100", "10k"));
  EXPECT_THAT(labels(2, 2), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(labels(0.3, 1.1), ElementsAre("0.2", "0.5", "1", "2"));
  EXPECT_THAT(labels(0.95, 1.2), ElementsAre("1.0", "1.2"));
  ChartOptions options = chart_options("", "", "times", 240, 400);
  options.log_y = true;
  EXPECT_THAT(texts_of(line_chart_svg({{"", {0, 1}, {0.3, 1.1}, false}}, options)),
              ElementsAre("times, logarithmic", "0", "1", "0.3", "0.5", "0.7", "1", "2"));
}

TEST(Chart, CountsInWholeNumbers) {
  const auto x_of = [](const std::vector<double>& x) {
    const std::vector<double> y(x.size(), 0);
    auto all = texts_of(line_chart_svg({{"", x, y, true}}, chart_options("", "", "", 480, 200)));
    all.resize(all.size() - 3);  // those of y
    return all;
  };
  EXPECT_THAT(x_of({5}), ElementsAre("4", "5", "6"));
  EXPECT_THAT(x_of({150}), ElementsAre("149", "150", "151"));
  EXPECT_THAT(x_of({1, 2}), ElementsAre("1", "2"));
  EXPECT_THAT(x_of({1, 2.5}), ElementsAre("1.0", "1.5", "2.0", "2.5"));
  EXPECT_THAT(x_of({9e18}), ElementsAre("8.5e18", "9e18", "9.5e18"));
}

TEST(Chart, ThoseOfAPageShareTheirXAndTheirWidth) {
  ChartOptions named = chart_options("", "", "", 480, 200), unnamed = named;
  named.x_range = Range{0, 40};
  const auto charts = line_charts_svg({{{{"a long name", {10}, {1}, true}}, named},
                                       {{{"", {20, 30}, {1e-3, 2e-3}, false}}, unnamed}});
  ASSERT_THAT(charts, SizeIs(2));
  EXPECT_EQ(test::grid_across(charts[0]), test::grid_across(charts[1]));
  EXPECT_THAT(texts_of(charts[1]), ElementsAre("0", "20", "40", "0.0010", "0.0015", "0.0020"));
}

TEST(Chart, LeavesGaps) {
  const std::string svg =
      line_chart_svg({{"", {0, 1, 2, 3, 4, 5, 6}, {1, 2, nan, 3, infinity, 4, 5}, false}});
  EXPECT_EQ(tag_mistake(svg), "");
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  const size_t path = svg.find("stroke-width=\"1.8\"");
  const size_t start = svg.rfind("d=\"", path);
  EXPECT_EQ(count_of(svg.substr(start, path - start), "M"), 3U);
  EXPECT_EQ(count_of(svg, "<circle"), 1U);  // the lonely point
}

TEST(Chart, DrawsOnePoint) {
  const std::string svg = line_chart_svg({{"one", {3}, {5}, false}});
  EXPECT_EQ(tag_mistake(svg), "");
  EXPECT_EQ(count_of(svg, "<circle"), 1U);
}

TEST(Chart, ThinsLongSeriesButKeepsTheirPeaks) {
  Series series;
  for (int i = 0; i < 10000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i % 1000 == 507 ? 100.0 : std::sin(i));
  }
  const std::string svg = line_chart_svg({series});
  EXPECT_EQ(tag_mistake(svg), "");
  EXPECT_LT(svg.size(), 60000U);
  EXPECT_EQ(count_of(svg, " 16L"), 10U);  // at the top of the plot
}

TEST(Chart, GrowsForManyNames) {
  std::vector<Series> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back({fmt::format("run {}", i), {0, 1}, {1, 2}, false});
  }
  const std::string svg = line_chart_svg(many);
  EXPECT_EQ(tag_mistake(svg), "");
  EXPECT_THAT(svg, HasSubstr("height=\"710\""));
  EXPECT_EQ(count_of(svg, ">run "), 3 * 40U);  // the label, its title and that of the line
}

TEST(Chart, ShowsAtLeastTheRangeAskedFor) {
  ChartOptions options = chart_options("", "", "", 240, 200);
  options.y_range = Range{0, 100};
  EXPECT_THAT(texts_of(line_chart_svg({{"", {0, 1}, {26, 27}, false}}, options)),
              ElementsAre("0", "1", "0", "50", "100"));
  EXPECT_THAT(texts_of(line_chart_svg({{"", {0, 1}, {26, 149}, false}}, options)),
              ElementsAre("0", "1", "0", "50", "100", "150"));
}

TEST(Chart, RefusesWhatCannotBeDrawn) {
  const auto refusal = [](const std::vector<Series>& series, const ChartOptions& options = {}) {
    return test::error_of([&] { line_chart_svg(series, options); });
  };
  EXPECT_EQ(refusal({}), "[chart] there is no series to draw");
  EXPECT_EQ(refusal({{"loss", {1, 2}, {1}, false}}),
            "[chart] the series \"loss\" has 2 values of x and 1 of y");
  EXPECT_EQ(refusal({{"loss", {1}, {nan}, false}}),
            "[chart] there is nothing to draw: no series has a finite point");
  EXPECT_EQ(refusal({{"loss", {1}, {1}, false}}, chart_options("", "", "", 100, 50)),
            "[chart] a chart of 100 x 50 pixels is too small: at least 240 x 160");
  ChartOptions log;
  log.log_y = true;
  EXPECT_EQ(refusal({{"loss", {1}, {0}, false}}, log),
            "[chart] there is nothing to draw: no series has a finite point above 0, as a log "
            "axis needs");
  log.y_range = Range{0, 100};
  EXPECT_EQ(refusal({{"loss", {1}, {1}, false}}, log),
            "[chart] y cannot be shown from 0 to 100 on a log axis");
  ChartOptions backward;
  backward.x_range = Range{1, 0};
  EXPECT_EQ(refusal({{"loss", {1}, {1}, false}}, backward),
            "[chart] x cannot be shown from 1 to 0");
}

AlignmentPicture small_picture() {
  return {{"le", "<chat>", "東京"}, {"the", "cat"}, {1, 0, 0.02F, 0.3F, 0.6F, 0.1F}, "a & b"};
}

TEST(Alignment, DrawsACellForEachWeight) {
  const std::string svg = alignment_svg(small_picture());
  EXPECT_EQ(tag_mistake(svg), "");
  EXPECT_THAT(texts_of(svg), ElementsAre("source", "translation", "le", "&lt;chat&gt;", "東京",
                                         "the", "cat", "0", "1", "attention weight", "a &amp; b"));
  EXPECT_EQ(count_of(svg, " ← "), 6U);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>\u2068cat\u2069 ← \u2068&lt;chat&gt;\u2069: 0.600"),
                         HasSubstr("fill=\"#0a2a5c\"><title>\u2068the\u2069 ← \u2068le\u2069"),
                         HasSubstr("fill=\"#ffffff\"><title>\u2068the\u2069 ← \u2068&lt;")));
}

TEST(Alignment, ShortensLongWordsButTellsThem) {
  const std::string word = "Donaudampfschifffahrtsgesellschaft";
  const std::string svg = alignment_svg({{word}, {word}, {1}, ""});
  EXPECT_THAT(svg, AllOf(HasSubstr(">Donaudampfschifffah…<title>\u2068" + word + "\u2069</title>"),
                         HasSubstr(">Donaudampfschifffahrtsg…<title>\u2068" + word)));
}

TEST(Alignment, MakesAPage) {
  const std::string page = alignments_html("Run <1>", {small_picture(), small_picture()});
  EXPECT_EQ(tag_mistake(page), "");
  EXPECT_EQ(count_of(page, "<figure class=\"alignment\">"), 2U);
  EXPECT_EQ(count_of(page, "<div class=\"alignments\">"), 1U);
  EXPECT_EQ(count_of(page, "<script>"), 1U);
  EXPECT_EQ(count_of(page, "http"), count_of(page, "xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(tag_mistake(alignments_html("none", {})), "");
  EXPECT_THAT(alignments_html("", {}, "A mean."),
              HasSubstr("the more attention the source word got. A mean.</p>"));
}

TEST(Alignment, NamesTheWordsOfEveryHead) {
  AlignmentPicture first = small_picture(), second = small_picture();
  first.caption = "head 1";
  second.caption = "head 2";
  const std::string figure = heads_figure("a & b", {{first, second}, {second}});
  EXPECT_EQ(tag_mistake(figure), "");
  EXPECT_EQ(count_of(figure, "<div class=\"layer\">"), 2U);
  EXPECT_THAT(texts_of(figure), ElementsAre("le", "&lt;chat&gt;", "東京", "the", "cat", "head 1",
                                            "le", "&lt;chat&gt;", "東京", "head 2", "le",
                                            "&lt;chat&gt;", "東京", "the", "cat", "head 2"));
  EXPECT_THAT(figure, HasSubstr("<title>\u2068cat\u2069 ← \u2068&lt;chat&gt;\u2069: 0.60"));
}

TEST(Alignment, DrawsInATerminal) {
  EXPECT_EQ(alignment_text(small_picture()),
            "a & b\n"
            "     1 2 3\n"
            "the ██ · ·\n"
            "cat ▒▒▓▓░░\n"
            "1 le  2 <chat>  3 東京\n");
}

TEST(Alignment, AlignsLabelsByDisplayWidth) {
  EXPECT_EQ(
      alignment_text(
          {{"a"}, {"東京", "e\u0301te\u0301", "internationalement vôtre"}, {1, 0, 1}, ""}, 24),
      "          1\n"
      "    東京 ██\n"
      "     e\u0301te\u0301  ·\n"
      "interna… ██\n"
      "1 a\n");
}

TEST(Alignment, IsCutIntoStripsWhereItIsTooWide) {
  AlignmentPicture picture;
  for (int i = 1; i <= 12; ++i) {
    picture.source.push_back(fmt::format("w{}", i));
  }
  picture.target = {"x"};
  picture.weights.assign(12, 0.5F);
  const std::string text = alignment_text(picture, 25);
  EXPECT_EQ(text,
            "    1  2  3  4  5  6\n"
            "x ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
            "1 w1  2 w2  3 w3  4 w4\n"
            "5 w5  6 w6\n"
            "\n"
            "    7  8  9 10 11 12\n"
            "x ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
            "7 w7  8 w8  9 w9  10 w10\n"
            "11 w11  12 w12\n");
  picture.caption = "A caption that needs more than one line of this terminal";
  for (const int width : {20, 25, 33, 80}) {
    EXPECT_THAT(widths_of(alignment_text(picture, width)), Each(Le(width)));
  }
}

TEST(Alignment, ShowsGreysInATerminalOfColours) {
  EXPECT_EQ(alignment_text({{"a", "b"}, {"x"}, {0, 1}, ""}, 80, true),
            "   1 2\n"
            "x \x1b[48;5;232m  \x1b[0m\x1b[48;5;255m  \x1b[0m\n"
            "1 a  2 b\n");
}

TEST(Alignment, RefusesWeightsThatDoNotFit) {
  const std::vector<std::string> three = {"a", "b", "c"}, five = {"1", "2", "3", "4", "5"};
  const std::string expected =
      "[alignment] weights have 12 values, target (3) x source (5) needs 15";
  const AlignmentPicture wrong = {five, three, std::vector<float>(12), ""};
  EXPECT_EQ(test::error_of([&] { alignment_svg(wrong); }), expected);
  EXPECT_EQ(test::error_of([&] { alignment_text(wrong); }), expected);
  EXPECT_EQ(test::error_of([&] { alignments_html("", {small_picture(), wrong}); }), expected);
  EXPECT_EQ(test::error_of([&] {
              alignment_svg({{}, three, {}, ""});
            }),
            "[alignment] there is no source word");
  EXPECT_EQ(test::error_of([&] {
              alignment_text({three, {}, {}, ""});
            }),
            "[alignment] there is no target word");
  AlignmentPicture diverged = small_picture();
  diverged.weights[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(test::error_of([&] { alignment_svg(diverged); }),
            "[alignment] the weight of target word 2 and source word 3 is nan");
}

}  // namespace
}  // namespace heed::train
