#pragma once

#include <string>
#include <vector>

namespace heed::fuzz {

// Checkpoints of the smallest models of each kind, as files.
std::vector<std::string> sample_checkpoints();

// A checkpoint with the checksum that its content has; other bytes as they are.
std::string with_checksum(std::string checkpoint);

}  // namespace heed::fuzz
