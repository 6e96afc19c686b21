#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "core/input_file.h"
#include "core/input_stream.h"
#include "data/utf8.h"

// Text files as users have them. Only LF ends a line; a CR before it is removed and counted; a byte
// order mark is removed; every other character (NUL, VT, FF, U+0085, U+2028) is an ordinary one.
namespace heed::data {

enum class EmptyText { error, allowed };

// What reading took away or replaced.
struct TextRepairs {
  int64_t carriage_returns = 0;
  int64_t replaced = 0;  // invalid parts turned into U+FFFD
};

// The lines of a text one after another, a megabyte of it in memory at a time. Throws InputError
// naming file, line and byte, and the remedy, for what is no UTF-8 text: a folder, an empty file
// (unless that is allowed), what data/text_kind.h refuses, lines ended by CR alone, a line over
// 16 MiB, invalid UTF-8 (unless it is to be replaced), a file that changes meanwhile.
class HEED_EXPORT TextReader {
 public:
  explicit TextReader(std::shared_ptr<const InputFile> file,
                      InvalidUtf8 policy = InvalidUtf8::error, EmptyText empty = EmptyText::error);
  // Bytes already at hand; may be none. They have to outlive the reader.
  TextReader(std::string_view bytes, std::string name, InvalidUtf8 policy = InvalidUtf8::error);
  // Nothing is read before it is asked for; may be empty. What kind of text it is, its first lines
  // tell as they come.
  explicit TextReader(InputStream stream, InvalidUtf8 policy = InvalidUtf8::error);
  TextReader(const TextReader&) = delete;  // what is to come lies in its buffer
  TextReader& operator=(const TextReader&) = delete;

  // Without its end, valid until more is asked for; none at the end of the text.
  std::optional<std::string_view> next();
  // Whether next() would not wait for a stream.
  bool is_ready();

  const std::string& name() const { return name_; }
  int64_t lines() const { return lines_; }  // until now
  const TextRepairs& repairs() const { return repairs_; }
  // Logs them, if there are any.
  void log_repairs() const;

 private:
  void skip_byte_order_mark();
  void look_at_first_lines(size_t end);
  size_t line_end();
  bool refill();
  void show_progress();
  std::string_view take(std::string_view line);
  [[noreturn]] void refuse_long_line();

  std::shared_ptr<const InputFile> file_;  // or
  std::optional<InputStream> stream_;      // or bytes at hand
  std::string name_;
  InvalidUtf8 policy_;
  std::string first_lines_;  // of a stream
  std::string buffer_;
  std::string_view window_;  // what was read and not yet returned
  int64_t offset_ = 0;       // in the file, where the window ends
  int64_t lines_ = 0;
  TextRepairs repairs_;
  std::string replaced_line_;  // the last one that had invalid parts
  std::chrono::steady_clock::time_point shown_;
};

struct TextFile {
  std::vector<std::string> lines;  // without their ends; a missing last newline is no matter
  TextRepairs repairs;
};

// All lines of bytes already at hand. Throws as TextReader does.
HEED_EXPORT TextFile parse_text(std::string_view bytes, const std::string& name,
                                InvalidUtf8 policy = InvalidUtf8::error);

}  // namespace heed::data
