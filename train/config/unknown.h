#pragma once

#include <string>
#include <string_view>

namespace heed::train {

bool is_section(std::string_view name);

// Messages with a guess at what was meant; `place` says where it stands.
std::string unknown_section(std::string_view name, const std::string& place);
// An empty section: the key stands outside of any.
std::string unknown_key(std::string_view section, std::string_view key, const std::string& place);

}  // namespace heed::train
