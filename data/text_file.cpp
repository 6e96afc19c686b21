#include "data/text_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

constexpr size_t longest_line = size_t{16} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct Signature {
  std::string_view bytes;
  const char* kind;
  const char* remedy;
};

using namespace std::string_view_literals;

constexpr Signature signatures[] = {
    {"\xFF\xFE\0\0"sv, "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8"},
    {"\0\0\xFE\xFF"sv, "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8"},
    {"\xFF\xFE"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
    {"\xFE\xFF"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
    {"\x1F\x8B"sv, "a gzip archive", "unpack it first: gunzip"},
    {"BZh"sv, "a bzip2 archive", "unpack it first: bunzip2"},
    {"\xFD"
     "7zXZ\0"sv,
     "an xz archive", "unpack it first: unxz"},
    {"\x28\xB5\x2F\xFD"sv, "a zstd archive", "unpack it first: unzstd"},
    {"PK\x03\x04"sv, "a zip archive", "unpack it first: unzip"},
    {"%PDF-"sv, "a PDF document", "give its text: pdftotext"},
    {"\x89PNG"sv, "a PNG picture", "give a text file"},
    {"\x7F"
     "ELF"sv,
     "a program", "give a text file"},
};

[[noreturn]] void refuse(const std::string& name, std::string_view kind, std::string_view remedy) {
  throw InputError("data", fmt::format("{} is {}, UTF-8 text is expected; {}", name, kind, remedy));
}

bool looks_like_html(std::string_view bytes) {
  const size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) {
    return false;
  }
  const std::string head = lower_case(bytes.substr(start, 14));
  return head.starts_with("<!doctype html") || head.starts_with("<html");
}

void refuse_what_is_no_text(std::string_view bytes, const std::string& name) {
  for (const Signature& signature : signatures) {
    if (bytes.starts_with(signature.bytes)) {
      refuse(name, signature.kind, signature.remedy);
    }
  }
  if (looks_like_html(bytes)) {
    refuse(name, "an HTML page", "download the file itself, not the page that shows it");
  }
  const std::string_view sample = bytes.substr(0, 4096);
  const auto nuls = static_cast<size_t>(std::count(sample.begin(), sample.end(), '\0'));
  if (sample.size() >= 4 && nuls * 10 >= sample.size() * 3) {
    // Every second byte zero: UTF-16 without a mark.
    size_t even = 0;
    for (size_t i = 0; i < sample.size(); i += 2) {
      even += sample[i] == '\0' ? 1 : 0;
    }
    if (even == 0 || even == nuls) {
      refuse(name, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8");
    }
    refuse(name, "a binary file", "give a text file");
  }
}

std::string take_line(std::string_view line, size_t number, TextFile& file, InvalidUtf8 policy) {
  HEED_CHECK_INPUT(line.size() <= longest_line, "data",
                   "{}:{}: the line has {} bytes, {} are the most; are its newlines missing?",
                   file.name, number, line.size(), longest_line);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
    ++file.carriage_returns;
  }
  const auto invalid = invalid_utf8_position(line);
  if (!invalid) {
    return std::string(line);
  }
  if (policy == InvalidUtf8::replace) {
    return replace_invalid_utf8(line, file.replaced);
  }
  throw InputError(
      "data",
      fmt::format("{}:{}: byte {} of the line, 0x{:02X}, is no UTF-8; convert the file "
                  "(iconv -f LATIN1 -t UTF-8), or set data.invalid_utf8 = \"replace\"",
                  file.name, number, *invalid + 1, static_cast<unsigned char>(line[*invalid])));
}

}  // namespace

TextFile parse_text(std::string_view bytes, const std::string& name, InvalidUtf8 policy) {
  TextFile file;
  file.name = name;
  if (bytes.starts_with(byte_order_mark)) {
    bytes.remove_prefix(byte_order_mark.size());
  }
  refuse_what_is_no_text(bytes, name);
  const bool has_newline = bytes.find('\n') != std::string_view::npos;
  if (!has_newline && std::count(bytes.begin(), bytes.end(), '\r') > 1) {
    refuse(name, "text whose lines end with CR alone", "convert it: tr '\\r' '\\n'");
  }
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    file.lines.push_back(take_line(bytes.substr(0, end), file.lines.size() + 1, file, policy));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  return file;
}

std::string parse_line(std::string_view line, size_t number, const std::string& name,
                       InvalidUtf8 policy) {
  TextFile file;
  file.name = name;
  return take_line(line, number, file, policy);
}

TextFile read_text_file(const std::string& path, InvalidUtf8 policy) {
  const std::string bytes = read_file("data", path);
  HEED_CHECK_INPUT(!bytes.empty(), "data", "{} is empty", path);
  TextFile file = parse_text(bytes, path, policy);
  HEED_CHECK_INPUT(!file.lines.empty(), "data", "{} is empty but for a byte order mark", path);
  if (file.carriage_returns > 0) {
    log::info("data", "{}: a CR was removed from the end of {} of {} lines", path,
              file.carriage_returns, file.lines.size());
  }
  if (file.replaced > 0) {
    log::warning("data", "{}: {} invalid parts were replaced by U+FFFD", path, file.replaced);
  }
  return file;
}

}  // namespace heed::data
