// A text file: as lines, and as what each policy on invalid UTF-8 makes of it.
#include <algorithm>

#include "core/error.h"
#include "data/text_file.h"
#include "data/utf8.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {
namespace {

using namespace std::string_literals;

size_t bytes_in(const data::TextFile& file) {
  size_t bytes = 0;
  for (const std::string& line : file.lines) {
    bytes += line.size();
  }
  return bytes;
}

}  // namespace

void read(std::string_view input) {
  try {
    const data::TextFile file = data::parse_text(input, "fuzz", data::InvalidUtf8::replace);
    for (const std::string& line : file.lines) {
      demand(!data::invalid_utf8_position(line), "a line is UTF-8");
      demand(line.find('\n') == std::string::npos, "a line holds no LF");
    }
    demand(bytes_in(file) <= 3 * input.size(), "a replacement takes three bytes");
    const auto newlines = static_cast<size_t>(std::count(input.begin(), input.end(), '\n'));
    demand(file.lines.size() - newlines <= 1, "a line an LF, and one more at most");

    const data::TextFile strict = data::parse_text(input, "fuzz", data::InvalidUtf8::error);
    demand(strict.lines == file.lines && strict.repairs.replaced == 0, "valid text is kept");
  } catch (const InputError&) {
  }
}

std::vector<std::string> seeds() {
  return {"a first line\nand a second\n",
          "Gr\xC3\xBC\xC3\x9F"
          "e\r\n\r\nline\xE2\x80\xA8separator\xC2\x85next\v\f\n",
          "\xEF\xBB\xBF\xF0\x9F\x98\x80 no last newline",
          "caf\xE9 in Latin-1\n\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xFF\n",
          "one\rtwo\rthree\r",
          "\xFF\xFE"
          "a\0b\0"s,
          "a\0b\0c\0d\0e\0"s,
          " \n<!DOCTYPE html><html>\n"};
}

std::vector<std::string> words() {
  return {"\r\n",
          "\r",
          "\n\n",
          "\t",
          "\xEF\xBB\xBF",
          "\xEF\xBF\xBD",
          "\xE2\x80\xA8",
          "\xC2\x85",
          "\xF4\x8F\xBF\xBF",
          "\xED\xA0\x80",
          "\xF0\x80\x80",
          "\x1F\x8B",
          "PK\x03\x04",
          "%PDF-",
          "<html",
          "\x7F"
          "ELF"};
}

}  // namespace heed::fuzz
