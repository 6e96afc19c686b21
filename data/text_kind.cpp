#include "data/text_kind.h"

#include <algorithm>

#include "core/error.h"

namespace heed::data {
namespace {

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
    {"SQLite format 3\0"sv, "an SQLite database", "give its text: sqlite3 -tabs FILE 'SELECT ...'"},
    {"\x80\x02"sv, "a Python pickle", "give a text file"},
    {"\x80\x03"sv, "a Python pickle", "give a text file"},
    {"\x80\x04"sv, "a Python pickle", "give a text file"},
    {"\x80\x05"sv, "a Python pickle", "give a text file"},
    {"\x89PNG"sv, "a PNG picture", "give a text file"},
    {"\xFF\xD8\xFF"sv, "a JPEG picture", "give a text file"},
    {"GIF89a"sv, "a GIF picture", "give a text file"},
    {"\x7F"
     "ELF"sv,
     "a program", "give a text file"},
};

// Whether past blanks, comments, and declarations as of XML, a page begins.
bool looks_like_html(std::string_view bytes) {
  for (;;) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    const std::string_view end = bytes.starts_with("<!--") ? "-->"sv
                                 : bytes.starts_with("<?") ? "?>"sv
                                                           : ""sv;
    const size_t at = end.empty() ? std::string_view::npos : bytes.find(end, 2);
    if (at == std::string_view::npos) {
      break;
    }
    bytes.remove_prefix(at + end.size());
  }
  const std::string head = lower_case(bytes.substr(0, 14));
  return head.starts_with("<!doctype html") || head.starts_with("<html");
}

// Every second byte zero: UTF-16 without a mark.
bool looks_like_utf16(std::string_view sample) {
  const auto nuls = static_cast<size_t>(std::count(sample.begin(), sample.end(), '\0'));
  if (sample.size() < 4 || nuls * 10 < sample.size() * 3) {
    return false;
  }
  size_t even = 0;
  for (size_t i = 0; i < sample.size(); i += 2) {
    even += sample[i] == '\0' ? 1 : 0;
  }
  return even == 0 || even == nuls;
}

// Not counting a character that the sample's end cuts.
bool has_invalid_utf8(std::string_view sample) {
  constexpr size_t longest_character = 4;
  const auto invalid = invalid_utf8_position(sample);
  return invalid && (sample.size() < kind_sample || *invalid + longest_character <= sample.size());
}

// A stray control may be in any text, and what is no UTF-8 may be Latin-1; what holds both is most
// likely neither, but who wants invalid parts replaced may have seen it. Of random bytes a tenth
// are controls.
bool looks_binary(std::string_view sample, InvalidUtf8 policy) {
  const size_t controls = count_controls(sample);
  return (controls >= 4 && controls * 20 >= sample.size()) ||
         (controls >= 1 && policy == InvalidUtf8::error && has_invalid_utf8(sample));
}

}  // namespace

size_t count_controls(std::string_view bytes) {
  return static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), [](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 &&
           "\t\n\v\f\r\x1B"sv.find(byte) == std::string_view::npos;
  }));
}

void refuse_as(const std::string& name, std::string_view kind, std::string_view remedy) {
  throw InputError("data", fmt::format("{} is {}, UTF-8 text is expected; {}", name, kind, remedy));
}

void refuse_what_is_no_text(std::string_view beginning, const std::string& name,
                            InvalidUtf8 policy) {
  for (const Signature& signature : signatures) {
    if (beginning.starts_with(signature.bytes)) {
      refuse_as(name, signature.kind, signature.remedy);
    }
  }
  const std::string_view sample = beginning.substr(0, kind_sample);
  if (looks_like_html(sample)) {
    refuse_as(name, "an HTML page", "download the file itself, not the page that shows it");
  }
  if (looks_like_utf16(sample)) {
    refuse_as(name, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8");
  }
  if (looks_binary(sample, policy)) {
    refuse_as(name, "a binary file", "give a text file");
  }
}

}  // namespace heed::data
