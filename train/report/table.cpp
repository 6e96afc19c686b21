#include "train/report/table.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "train/report/display_width.h"

namespace heed::train {

TextTable::TextTable(std::vector<std::string> header, std::vector<bool> right_aligned)
    : header_(std::move(header)), right_aligned_(std::move(right_aligned)) {
  HEED_CHECK(!header_.empty(), "table", "a table needs at least one column");
  HEED_CHECK(right_aligned_.size() <= header_.size(), "table",
             "alignments are given for {} columns, the header has {}", right_aligned_.size(),
             header_.size());
  right_aligned_.resize(header_.size(), false);
}

void TextTable::add(std::vector<std::string> row) {
  HEED_CHECK(row.size() == header_.size(), "table", "a row has {} cells, the header has {}",
             row.size(), header_.size());
  rows_.push_back(std::move(row));
}

std::string TextTable::text() const {
  std::vector<int> widths;
  std::vector<std::string> rule;
  for (size_t column = 0; column < header_.size(); ++column) {
    int width = display_width(header_[column]);
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[column]));
    }
    widths.push_back(width);
    rule.emplace_back(static_cast<size_t>(width), '-');
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column) {
      line += pad(row[column], widths[column], right_aligned_[column]) + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  append(header_);
  append(rule);
  for (const auto& row : rows_) {
    append(row);
  }
  return text;
}

}  // namespace heed::train
