#include "data/text_file.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/logging.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

constexpr int64_t chunk = int64_t{1} << 20;
constexpr size_t stream_chunk = size_t{1} << 16;
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

[[noreturn]] void refuse_length(int64_t bytes, int64_t number, const std::string& name) {
  throw InputError("data", fmt::format("{}:{}: the line has {} bytes, {} are the most; are its "
                                       "newlines missing?",
                                       name, number, bytes, longest_line));
}

int64_t count_returns(std::string_view bytes) {
  return std::count(bytes.begin(), bytes.end(), '\r');
}

void refuse_returns_alone(int64_t count, const std::string& name) {
  if (count > 1) {
    refuse(name, "text whose lines end with CR alone", "convert it: tr '\\r' '\\n'");
  }
}

// The line as it is to be read, perhaps in `replaced`.
std::string_view repaired(std::string_view line, int64_t number, const std::string& name,
                          InvalidUtf8 policy, TextRepairs& repairs, std::string& replaced) {
  if (line.size() > longest_line) {
    refuse_length(static_cast<int64_t>(line.size()), number, name);
  }
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
    ++repairs.carriage_returns;
  }
  const auto invalid = invalid_utf8_position(line);
  if (!invalid) {
    return line;
  }
  HEED_CHECK_INPUT(policy == InvalidUtf8::replace, "data",
                   "{}:{}: byte {} of the line, 0x{:02X}, is no UTF-8; convert it "
                   "(iconv -f LATIN1 -t UTF-8), or train with data.invalid_utf8 = \"replace\"",
                   name, number, *invalid + 1, static_cast<unsigned char>(line[*invalid]));
  replaced = replace_invalid_utf8(line, repairs.replaced);
  return replaced;
}

}  // namespace

TextReader::TextReader(std::shared_ptr<const InputFile> file, InvalidUtf8 policy, EmptyText empty)
    : file_(std::move(file)), name_(file_->path()), policy_(policy) {
  shown_ = std::chrono::steady_clock::now();
  refill();
  const bool may_be_empty = empty == EmptyText::allowed;
  HEED_CHECK_INPUT(may_be_empty || !window_.empty(), "data", "{} is empty", name_);
  begin(window_);
  HEED_CHECK_INPUT(may_be_empty || !window_.empty(), "data",
                   "{} is empty but for a byte order mark", name_);
}

TextReader::TextReader(std::string_view bytes, std::string name, InvalidUtf8 policy)
    : name_(std::move(name)), policy_(policy), window_(bytes) {
  begin(window_);
}

TextReader::TextReader(InputStream stream, InvalidUtf8 policy)
    : stream_(std::move(stream)), name_(stream_->name()), policy_(policy) {}

// With the beginning of the text, by which its kind is known.
void TextReader::begin(std::string_view head) {
  if (head.starts_with(byte_order_mark)) {
    head.remove_prefix(byte_order_mark.size());
    window_.remove_prefix(byte_order_mark.size());
  }
  refuse_what_is_no_text(head, name_);
}

// In the window, which is read on until it is there; npos when the text ends without one.
size_t TextReader::line_end() {
  for (size_t searched = 0;;) {
    const size_t end = window_.find('\n', searched);
    if (end != std::string_view::npos) {
      return end;
    }
    searched = window_.size();
    if (searched > longest_line) {
      refuse_long_line();
    }
    if (!refill()) {
      return std::string_view::npos;
    }
  }
}

std::optional<std::string_view> TextReader::next() {
  size_t end = line_end();
  if (stream_ && lines_ == 0) {
    begin(window_.substr(0, end));
    end = line_end();
  }
  if (end != std::string_view::npos) {
    const std::string_view line = window_.substr(0, end);
    window_.remove_prefix(end + 1);
    return take(line);
  }
  if (window_.empty()) {
    return std::nullopt;
  }
  if (lines_ == 0) {
    refuse_returns_alone(count_returns(window_), name_);
  }
  return take(std::exchange(window_, {}));
}

bool TextReader::is_ready() {
  size_t searched = 0;
  while (stream_ && window_.find('\n', searched) == std::string_view::npos &&
         window_.size() <= longest_line) {
    if (!stream_->is_ready()) {
      return false;
    }
    searched = window_.size();
    if (!refill()) {
      break;
    }
  }
  return true;
}

// Appends to the window; false at the end of the text.
bool TextReader::refill() {
  if (file_ == nullptr && !stream_) {
    return false;
  }
  buffer_.erase(0, buffer_.size() - window_.size());
  const size_t kept = buffer_.size();
  // A short file needs no long buffer; what has no size may still have content.
  const auto wanted =
      stream_ ? stream_chunk
              : static_cast<size_t>(std::clamp<int64_t>(file_->size() - offset_ + 1, 4096, chunk));
  buffer_.resize(kept + wanted);
  char* const into = buffer_.data() + kept;
  const size_t got = stream_ ? stream_->read(into, wanted) : file_->read_at(offset_, into, wanted);
  buffer_.resize(kept + got);
  window_ = buffer_;
  offset_ += static_cast<int64_t>(got);
  if (file_ != nullptr) {
    if (got == 0) {
      file_->check_unchanged();
    }
    show_progress();
  }
  return got > 0;
}

// Only of what takes long.
void TextReader::show_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ >= std::chrono::seconds(20)) {
    shown_ = now;
    log::info("data", "{}: {}% read", name_, 100 * offset_ / std::max<int64_t>(1, file_->size()));
  }
}

std::string_view TextReader::take(std::string_view line) {
  return repaired(line, ++lines_, name_, policy_, repairs_, replaced_line_);
}

void TextReader::refuse_long_line() {
  int64_t length = 0;
  int64_t returns = 0;
  bool ended = false;
  do {
    const size_t end = window_.find('\n');
    ended = end != std::string_view::npos;
    const std::string_view part = window_.substr(0, end);
    length += static_cast<int64_t>(part.size());
    returns += count_returns(part);
    window_ = {};
  } while (!ended && refill());
  if (lines_ == 0 && !ended) {
    refuse_returns_alone(returns, name_);
  }
  refuse_length(length, lines_ + 1, name_);
}

void TextReader::log_repairs() const {
  if (repairs_.carriage_returns > 0) {
    log::info("data", "{}: a CR was removed from the end of {} of {} lines", name_,
              repairs_.carriage_returns, lines_);
  }
  if (repairs_.replaced > 0) {
    log::warning("data", "{}: {} invalid parts were replaced by U+FFFD", name_, repairs_.replaced);
  }
}

TextFile parse_text(std::string_view bytes, const std::string& name, InvalidUtf8 policy) {
  TextReader reader(bytes, name, policy);
  TextFile file;
  while (const auto line = reader.next()) {
    file.lines.emplace_back(*line);
  }
  file.repairs = reader.repairs();
  return file;
}

}  // namespace heed::data
