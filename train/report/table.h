#pragma once

#include <string>
#include <vector>

#include "core/export.h"

namespace heed::train {

// A table for a terminal, its columns aligned by display width:
//
//   split       loss   BLEU
//   ----------  -----  -----
//   validation  1.234  26.75
class HEED_EXPORT TextTable {
 public:
  // right_aligned may be shorter than header (the rest is left-aligned). Throws Error when the
  // header is empty or shorter than right_aligned.
  explicit TextTable(std::vector<std::string> header, std::vector<bool> right_aligned = {});

  // Throws Error when the row and the header differ in length.
  void add(std::vector<std::string> row);

  // Ends with a newline; no trailing spaces.
  std::string text() const;

 private:
  std::vector<std::string> header_;
  std::vector<bool> right_aligned_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heed::train
