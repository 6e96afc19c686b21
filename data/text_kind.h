#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/export.h"
#include "data/utf8.h"

// What the beginning of a file tells of it.
namespace heed::data {

// Controls that no text needs: NUL and those below space but for TAB, LF, VT, FF, CR and ESC.
HEED_EXPORT size_t count_controls(std::string_view bytes);

// As much of a beginning as is looked at.
constexpr size_t kind_sample = 4096;

// Throws InputError naming what it is, and the remedy, for what is no UTF-8 text: UTF-16 or UTF-32,
// archives, databases, pictures and other binary files, HTML. Where a beginning passes, a longer
// one may not.
HEED_EXPORT void refuse_what_is_no_text(std::string_view beginning, const std::string& name,
                                        InvalidUtf8 policy);
[[noreturn]] HEED_EXPORT void refuse_as(const std::string& name, std::string_view kind,
                                        std::string_view remedy);

}  // namespace heed::data
