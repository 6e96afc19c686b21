#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"
#include "train/config/config_rules.h"
#include "train/config/config_table.h"
#include "train/config/nearest.h"
#include "train/config/unknown.h"
#include "train/config/unsafe_toml.h"

namespace heed::train {
namespace {

std::string type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a section";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

std::string expected_type(const Value& value) {
  struct Namer {
    std::string operator()(const bool*) const { return "true or false"; }
    std::string operator()(const int64_t*) const { return "an integer"; }
    std::string operator()(const double*) const { return "a number"; }
    std::string operator()(const std::string*) const { return "a string"; }
    std::string operator()(const CorpusName*) const {
      return "a path, an array of two paths or a generator such as \"grammar:20000\"";
    }
  };
  return std::visit(Namer{}, value);
}

// Stores the node's value; false when its type does not fit.
struct Store {
  const toml::node& node;

  template <typename T>
  bool take(T* target) const {
    const auto found = node.value_exact<T>();
    if (found) {
      *target = *found;
    }
    return found.has_value();
  }
  bool operator()(bool* target) const { return take(target); }
  bool operator()(int64_t* target) const { return take(target); }
  bool operator()(std::string* target) const { return take(target); }
  bool operator()(double* target) const {
    int64_t integer = 0;
    if (take(&integer)) {
      *target = static_cast<double>(integer);
      return true;
    }
    return take(target);
  }
  bool operator()(CorpusName* target) const {
    CorpusName paths;
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& element : *array) {
        paths.push_back(element.value_exact<std::string>().value_or(""));
      }
      if (paths.size() != 2 || paths.front().empty() || paths.back().empty()) {
        return false;
      }
    } else if (!take(&paths.emplace_back())) {
      return false;
    }
    *target = paths == CorpusName{"none"} ? CorpusName{} : paths;
    return true;
  }
};

// Each mistake costs a search for what was meant, each key given twice another reading of the file:
// what has this many is no config.
constexpr size_t most_mistakes = 100;

enum class Writer { person, heed };

// Gathers every mistake before it gives up.
class Reader {
 public:
  explicit Reader(Writer writer) : writer_(writer) {}
  void read_file(std::string text, const std::string& source);
  void read_overrides(const std::vector<std::string>& overrides);
  Config finish(const std::string& stem);

 private:
  struct Override {
    const Key* key;
    std::string place;
    toml::table holder;  // { value = ... }
  };

  std::optional<toml::table> parse(std::string text, const std::string& source);
  void read_section(std::string_view section, const toml::table& table, const std::string& source);
  void read_override(const std::string& text);
  void assign(const Key& key, const toml::node& node, const std::string& place);
  bool check_value(const Key& key, const std::string& place);
  void forget_what_overrides_end();
  void check_conditions();
  void check_rules();
  template <typename... Args>
  void mistake(fmt::format_string<Args...> format, Args&&... args) {
    mistakes_.emplace_back(line_, "[config] " + fmt::format(format, std::forward<Args>(args)...));
  }
  bool wrong(std::string_view key) const { return wrong_.contains(key); }
  bool enough_mistakes() const { return mistakes_.size() >= most_mistakes; }

  const Writer writer_;
  Config config_;
  std::vector<Override> overrides_;
  std::map<std::string_view, std::string> given_;  // key -> where
  std::set<std::string_view> wrong_;               // keys whose value was refused
  // The file's lines in order, then the overrides, then the contradictions.
  std::vector<std::pair<size_t, std::string>> mistakes_;
  size_t line_ = 0;
  bool readable_ = true;
};

constexpr size_t after_file = std::numeric_limits<uint32_t>::max();

void Reader::read_file(std::string text, const std::string& source) {
  const auto file = parse(std::move(text), source);
  if (!file) {
    return;
  }
  for (const auto& [name, node] : *file) {
    if (enough_mistakes()) {
      break;
    }
    line_ = name.source().begin.line;
    const std::string place = fmt::format("{}:{}", source, line_);
    const bool known = is_section(name.str());
    if (known && node.is_table()) {
      read_section(name.str(), *node.as_table(), source);
    } else if (known) {
      mistake("{} is {}, a section [{}] is expected: {}", name.str(), type_of(node), name.str(),
              place);
    } else if (node.is_table()) {
      mistakes_.emplace_back(line_, unknown_section(name.str(), place));
    } else {
      mistakes_.emplace_back(line_, unknown_key("", name.str(), place));
    }
  }
  line_ = after_file;
}

// Parses TOML. A key given twice is noted and the second one passed over, so that what follows is
// read as well; any other slip of syntax ends the reading.
std::optional<toml::table> Reader::parse(std::string text, const std::string& source) {
  if (const auto unsafe = find_unsafe_toml(text)) {
    line_ = unsafe->line;
    mistake("{}:{}:{} {}", source, line_, unsafe->column, unsafe->what);
    readable_ = false;
    return std::nullopt;
  }
  bool duplicates = false;  // what blanking one left behind is not reported
  while (true) {
    try {
      return toml::parse(text, source);
    } catch (const toml::parse_error& failure) {
      std::string_view what = failure.description();
      const auto& where = failure.source().begin;
      line_ = where.line;
      constexpr std::string_view twice = "cannot redefine existing ";
      const size_t found = what.find(twice);
      if (found != std::string_view::npos) {
        const std::string_view name = what.substr(what.find('\'', found));
        const bool table = what.substr(found + twice.size()).starts_with("table");
        mistake("{} {} is given twice, {}:{}", table ? "section" : "key", name, source, line_);
        size_t begin = 0;
        for (size_t line = 1; line < line_; ++line) {
          begin = text.find('\n', begin) + 1;
        }
        const size_t end = std::min(text.find('\n', begin), text.size());
        text.replace(begin, end - begin, end - begin, ' ');
        duplicates = true;
        if (!table && !enough_mistakes()) {
          continue;
        }
      } else if (what.find("utf-8") != std::string_view::npos) {
        mistake("{}:{}:{} is not valid UTF-8", source, line_, where.column);
      } else if (!duplicates) {
        constexpr std::string_view prefix = "Error while parsing ";
        std::string context;
        if (what.starts_with(prefix)) {
          const size_t colon = what.find(": ");
          context = fmt::format(" (in a {})", what.substr(prefix.size(), colon - prefix.size()));
          what.remove_prefix(colon + 2);
        }
        const bool cut_short = what.find("end-of-file") != std::string_view::npos ||
                               what.find("control characters") != std::string_view::npos;
        const bool unquoted =
            context == " (in a boolean)" || what.find("value type") != std::string_view::npos;
        const char* remedy = unquoted ? "; text stands in quotes"
                             : what.starts_with("expected '='")
                                 ? "; a config has lines of key = value, a corpus is named in one"
                             : cut_short && context.ends_with("string)")
                                 ? "; is a closing quote missing?"
                                 : "";
        mistake("{}:{}:{} is not valid TOML: {}{}{}", source, line_, where.column, what, context,
                remedy);
      }
      readable_ = false;
      return std::nullopt;
    }
  }
}

void Reader::read_section(std::string_view section, const toml::table& table,
                          const std::string& source) {
  for (const auto& [name, node] : table) {
    if (enough_mistakes()) {
      break;
    }
    line_ = name.source().begin.line;
    const std::string place = fmt::format("{}:{}", source, line_);
    const Key* key = find_key(fmt::format("{}.{}", section, name.str()));
    if (key == nullptr) {
      mistakes_.emplace_back(line_, unknown_key(section, name.str(), place));
    } else if (std::ranges::find(overrides_, key, &Override::key) == overrides_.end()) {
      assign(*key, node, place);
    }
  }
}

void Reader::read_overrides(const std::vector<std::string>& overrides) {
  line_ = after_file;
  for (const std::string& text : overrides) {
    read_override(text);
  }
}

void Reader::read_override(const std::string& text) {
  const std::string place = "--set " + text;
  const size_t equals = text.find('=');
  const std::string_view name = std::string_view(text).substr(0, equals);
  const size_t dot = name.find('.');
  if (equals == std::string::npos || dot == std::string_view::npos) {
    mistake("{}: SECTION.KEY=VALUE is expected, such as --set train.steps=100", place);
    return;
  }
  const Key* key = find_key(name);
  if (key == nullptr) {
    const std::string_view section = name.substr(0, dot);
    mistakes_.emplace_back(line_, is_section(section)
                                      ? unknown_key(section, name.substr(dot + 1), place)
                                      : unknown_section(section, place));
    return;
  }
  // The value is TOML, or else (and always for a key that takes text) the text as it stands.
  const std::string value = text.substr(equals + 1);
  bool too_large = false;
  const auto as_toml = [&](const std::string& written) -> std::optional<toml::table> {
    const std::string assignment = "value = " + written;
    if (find_unsafe_toml(assignment)) {
      return std::nullopt;
    }
    try {
      toml::table table = toml::parse(assignment);
      return table.size() == 1 ? std::optional(std::move(table)) : std::nullopt;
    } catch (const toml::parse_error& failure) {
      too_large = failure.description().find("not representable in 64 bits") != std::string::npos;
      return std::nullopt;
    }
  };
  const Value target = key->value(config_);
  const bool takes_text =
      std::holds_alternative<std::string*>(target) || std::holds_alternative<CorpusName*>(target);
  auto holder = as_toml(value);
  if (too_large && !takes_text) {
    mistake("{} is an integer beyond 64 bits: {}", key->name, place);
    wrong_.insert(key->name);
    return;
  }
  const toml::node* node = holder ? holder->get("value") : nullptr;
  if (node == nullptr || (takes_text && !node->is_string() && !node->is_array())) {
    holder = as_toml(toml_string(value));
  }
  if (!holder) {
    mistake("--set {} holds bytes that are no UTF-8", name);
    return;
  }
  std::erase_if(overrides_, [&](const Override& earlier) { return earlier.key == key; });
  overrides_.push_back({key, place, std::move(*holder)});
}

void Reader::assign(const Key& key, const toml::node& node, const std::string& place) {
  const Config before = config_;
  const Value target = key.value(config_);
  given_[key.name] = place;
  bool fits = std::visit(Store{node}, target);
  if (!fits) {
    mistake("{} is {}, {} is expected: {}", key.name, type_of(node), expected_type(target), place);
  }
  fits = fits && check_value(key, place);
  if (!fits) {
    config_ = before;
    wrong_.insert(key.name);
  }
}

bool Reader::check_value(const Key& key, const std::string& place) {
  const Value target = key.value(config_);
  if (const auto* corpus = std::get_if<CorpusName*>(&target)) {
    const bool named_one = **corpus != CorpusName{""};
    if (!named_one) {
      mistake("{} is empty, a corpus is expected: {}; give it by --set {}=PATH{}", key.name, place,
              key.name, key.name == "data.train" ? "" : " (or none)");
    }
    return named_one;
  }
  if (const auto* text = std::get_if<std::string*>(&target); text && !key.choices.empty()) {
    const bool known = std::ranges::find(key.choices, **text) != key.choices.end();
    if (!known) {
      const std::string_view near = nearest(**text, key.choices);
      mistake("{} is {}, one of {} is expected: {}{}", key.name, toml_string(**text),
              alternatives(key.choices, ", "), place,
              near.empty() ? "" : fmt::format("; did you mean {}?", toml_string(near)));
    }
    return known;
  }
  double x = 0;
  if (const auto* integer = std::get_if<int64_t*>(&target)) {
    x = static_cast<double>(**integer);
  } else if (const auto* number = std::get_if<double*>(&target)) {
    x = **number;
  } else {
    return true;
  }
  if (!std::isfinite(x)) {
    mistake("{} is {}, a finite number is expected: {}", key.name, key.text(config_), place);
    return false;
  }
  if (!key.range.contains(x)) {
    mistake("{} is {}, {} is expected: {}", key.name, key.text(config_), key.range.text(), place);
    return false;
  }
  return true;
}

void Reader::check_conditions() {
  for (const Key& key : config_table()) {
    const auto given = given_.find(key.name);
    const Condition& condition = key.condition;
    if (given == given_.end() || wrong(key.name) || wrong(condition.key) ||
        condition.holds(config_)) {
      continue;
    }
    mistake("{} has no effect with {} = {}: {}", key.name, condition.key,
            find_key(condition.key)->text(config_), given->second);
  }
}

void Reader::check_rules() {
  for (const Rule& rule : config_rules()) {
    if (writer_ == Writer::heed && !rule.essential) {
      continue;
    }
    const auto is_given = [&](std::string_view key) { return given_.contains(key); };
    const auto is_wrong = [&](std::string_view key) { return wrong(key); };
    const auto first = std::ranges::find_if(rule.keys, is_given);
    if (first == rule.keys.end() || std::ranges::any_of(rule.keys, is_wrong)) {
      continue;
    }
    const std::string text = rule.mistake(config_);
    if (text.empty()) {
      continue;
    }
    // Where the keys stand that it names.
    std::vector<std::string> places;
    for (const std::string_view key : rule.keys) {
      if (is_given(key) && text.find(key) != std::string::npos &&
          std::ranges::find(places, given_[key]) == places.end()) {
        places.push_back(given_[key]);
      }
    }
    mistake("{}: {}", text,
            places.empty() ? given_[*first] : fmt::format("{}", fmt::join(places, ", ")));
  }
}

// A key of the file that an override of another key leaves without effect is as if not given.
void Reader::forget_what_overrides_end() {
  const auto overridden = [&](std::string_view key) {
    return std::ranges::any_of(overrides_,
                               [&](const Override& override) { return override.key->name == key; });
  };
  for (const Key& key : config_table()) {
    const Condition& condition = key.condition;
    if (overridden(condition.key) && !overridden(key.name) && !wrong(condition.key) &&
        !condition.holds(config_)) {
      given_.erase(key.name);
    }
  }
  // Steps and epochs both say when to stop.
  const bool steps = overridden("train.steps") && config_.train.steps > 0;
  const bool epochs = overridden("train.epochs") && config_.train.epochs > 0;
  if (steps != epochs) {
    given_.erase(steps ? "train.epochs" : "train.steps");
  }
}

Config Reader::finish(const std::string& stem) {
  line_ = after_file;
  for (const Override& override : overrides_) {
    assign(*override.key, *override.holder.get("value"), override.place);
  }
  forget_what_overrides_end();
  take_defaults(config_, [&](std::string_view key) { return given_.contains(key); });
  resolve(config_, stem);
  if (readable_) {
    if (writer_ == Writer::person) {
      check_conditions();
    }
    check_rules();
  }
  if (!mistakes_.empty()) {
    std::ranges::stable_sort(mistakes_, {}, [](const auto& mistake) { return mistake.first; });
    std::string all;
    for (const auto& [line, text] : mistakes_) {
      all += (all.empty() ? "" : "\n") + text;
    }
    if (enough_mistakes()) {
      all += fmt::format("\n[config] {} mistakes are shown, there may be more", mistakes_.size());
    }
    throw InputError(all);
  }
  return config_;
}

std::string read_text(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr size_t largest = 1 << 20;
  std::error_code ignored;
  HEED_CHECK_INPUT(fs::exists(path, ignored), "config", "{} does not exist",
                   path.empty() ? "''" : path);
  HEED_CHECK_INPUT(!fs::is_directory(path, ignored), "config",
                   "{} is a folder, a TOML file is expected", path);
  std::ifstream file(path, std::ios::binary);
  HEED_CHECK_INPUT(file.is_open(), "config", "{} cannot be opened: permission denied?", path);
  std::string text(largest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  HEED_CHECK_INPUT(text.size() <= largest, "config", "{} is over 1 MiB, no config is that long",
                   path);
  HEED_CHECK_INPUT(text.find_first_not_of(" \t\r\n") != std::string::npos, "config",
                   "{} is empty; `heed config --toml` prints a file to start from", path);
  return text;
}

}  // namespace

Config load_config(const std::string& path, const std::vector<std::string>& overrides) {
  return parse_config(read_text(path), path, overrides);
}

Config parse_config(std::string_view toml, const std::string& source,
                    const std::vector<std::string>& overrides) {
  Reader reader(Writer::person);
  reader.read_overrides(overrides);
  reader.read_file(std::string(toml), source);
  return reader.finish(std::filesystem::path(source).stem().string());
}

Config parse_saved_config(std::string_view toml, const std::string& source) {
  Reader reader(Writer::heed);
  reader.read_file(std::string(toml), source);
  return reader.finish("");
}

}  // namespace heed::train
