#include "train/config/unknown.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/config/config_table.h"
#include "train/config/nearest.h"

namespace heed::train {
namespace {

// 'name', with what would break a line escaped and long ones cut.
std::string named(std::string_view name) {
  constexpr size_t longest = 80;
  std::string text = toml_string(name.substr(0, longest));
  text.front() = text.back() = '\'';
  return text;
}

// The key of that name in another section, else the nearest of this section, else of all.
const Key* meant_key(std::string_view section, std::string_view key) {
  const auto table = config_table();
  const auto same = std::ranges::find(table, key, &Key::key);
  if (same != table.end()) {
    return &*same;
  }
  for (const bool everywhere : {false, true}) {
    std::vector<std::string_view> candidates;
    for (const Key& known : table) {
      if (everywhere || known.section() == section) {
        candidates.push_back(known.key());
      }
    }
    const std::string_view near = nearest(key, candidates);
    const auto found = std::ranges::find_if(
        table, [&](const Key& known) { return known.key().data() == near.data(); });
    if (found != table.end()) {
      return &*found;
    }
  }
  return nullptr;
}

}  // namespace

bool is_section(std::string_view name) {
  const auto sections = config_sections();
  return std::ranges::find(sections, name, &Section::name) != sections.end();
}

std::string unknown_section(std::string_view name, const std::string& place) {
  std::vector<std::string_view> names;
  std::ranges::transform(config_sections(), std::back_inserter(names), &Section::name);
  const std::string_view near = nearest(name, names);
  return fmt::format("[config] unknown section {}, {}{}", named(name), place,
                     near.empty() ? "" : fmt::format("; did you mean [{}]?", near));
}

std::string unknown_key(std::string_view section, std::string_view key, const std::string& place) {
  const std::string what = section.empty()
                               ? fmt::format("key {} stands outside of any section", named(key))
                               : fmt::format("unknown key {} in [{}]", named(key), section);
  const Key* meant = meant_key(section, key);
  std::string hint = "`heed config` lists all keys";
  if (meant != nullptr) {
    hint =
        fmt::format("did you mean '{}'{}?", meant->key(),
                    meant->section() == section ? "" : fmt::format(" in [{}]", meant->section()));
  }
  return fmt::format("[config] {}, {}; {}", what, place, hint);
}

}  // namespace heed::train
