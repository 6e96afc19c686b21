#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/export.h"
#include "core/scratch_file.h"

namespace heed::data {

// Ids of one vocabulary in a row, each in as few bytes as the vocabulary needs: 1, 2 or 4. A long
// row lies in a temporary file and takes no memory.
class HEED_EXPORT IdStore {
 public:
  // `name`: whose ids they are, for messages.
  IdStore(const std::string& name, int64_t vocabulary, size_t memory = ScratchFile::default_memory);
  IdStore() : IdStore("no text", 0) {}

  void append(std::span<const int32_t> ids);
  int64_t size() const { return bytes_.size() / width_; }
  bool empty() const { return size() == 0; }
  // Fills `into` with the ids from `begin` on; all of them have to be there.
  void read(int64_t begin, std::span<int32_t> into) const;

 private:
  int64_t width_;  // bytes of an id
  ScratchFile bytes_;
};

}  // namespace heed::data
