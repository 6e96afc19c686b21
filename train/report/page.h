#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

namespace heed::train {

// Text made safe inside an element or a quoted attribute of HTML and SVG; control characters that
// XML does not allow become U+FFFD.
HEED_EXPORT std::string html_escape(std::string_view text);

struct PageSection {
  std::string heading;  // text; may be empty
  std::string body;     // HTML
};

// One self-contained HTML page (no file, font or script from elsewhere). introduction is text.
HEED_EXPORT std::string html_page(std::string_view title, const std::vector<PageSection>& sections,
                                  std::string_view introduction = "");

// A <table> of texts; right_aligned may be shorter than header (the rest is left-aligned). Throws
// Error when a row and the header differ in length.
HEED_EXPORT std::string html_table(const std::vector<std::string>& header,
                                   const std::vector<std::vector<std::string>>& rows,
                                   const std::vector<bool>& right_aligned = {});

}  // namespace heed::train
