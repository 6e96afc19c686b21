#include "data/text_file.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/logging.h"
#include "data/text_kind.h"

namespace heed::data {
namespace {

constexpr int64_t chunk = int64_t{1} << 20;
constexpr size_t stream_chunk = size_t{1} << 16;
constexpr size_t longest_line = size_t{16} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

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
    refuse_as(name, "text whose lines end with CR alone", "convert it: tr '\\r' '\\n'");
  }
}

// What to do about the first invalid byte of a line, which is in an older character set unless it
// has controls, or characters of UTF-8 before that byte.
std::string_view remedy_of(std::string_view line, size_t invalid) {
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  if (!std::all_of(line.begin(), line.begin() + static_cast<ptrdiff_t>(invalid), is_ascii) ||
      count_controls(line) > 0) {
    return "mend the line";
  }
  // Where Latin-1 has controls, Windows has quotes and dashes.
  const bool windows = std::any_of(line.begin(), line.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xE0) == 0x80;
  });
  return windows ? "convert it (iconv -f CP1252 -t UTF-8)"
                 : "convert it (iconv -f LATIN1 -t UTF-8)";
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
                   "{}:{}: byte {} of the line, 0x{:02X}, is no UTF-8; {}, or train with "
                   "data.invalid_utf8 = \"replace\"",
                   name, number, *invalid + 1, static_cast<unsigned char>(line[*invalid]),
                   remedy_of(line, *invalid));
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
  skip_byte_order_mark();
  refuse_what_is_no_text(window_, name_, policy_);
  HEED_CHECK_INPUT(may_be_empty || !window_.empty(), "data",
                   "{} is empty but for a byte order mark", name_);
}

TextReader::TextReader(std::string_view bytes, std::string name, InvalidUtf8 policy)
    : name_(std::move(name)), policy_(policy), window_(bytes) {
  skip_byte_order_mark();
  refuse_what_is_no_text(window_, name_, policy_);
}

TextReader::TextReader(InputStream stream, InvalidUtf8 policy)
    : stream_(std::move(stream)), name_(stream_->name()), policy_(policy) {}

void TextReader::skip_byte_order_mark() {
  if (window_.starts_with(byte_order_mark)) {
    window_.remove_prefix(byte_order_mark.size());
  }
}

// At those of a stream, the next of which ends at `end` of the window.
void TextReader::look_at_first_lines(size_t end) {
  first_lines_ += end == std::string_view::npos ? window_ : window_.substr(0, end + 1);
  first_lines_.resize(std::min(first_lines_.size(), kind_sample));
  refuse_what_is_no_text(first_lines_, name_, policy_);
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
    skip_byte_order_mark();
    end = line_end();
  }
  if (stream_ && first_lines_.size() < kind_sample) {
    look_at_first_lines(end);
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
