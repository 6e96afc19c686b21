#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/tensor.h"

// The safetensors format: 8 bytes header length (little-endian), a JSON header with dtype, shape
// and data offsets of each tensor, then the tensors' bytes, row-major.
namespace heed {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct HEED_EXPORT TensorFile {
  std::vector<NamedTensor> tensors;             // in the order of their names
  std::map<std::string, std::string> metadata;  // the header's __metadata__

  // The tensor of that name; throws InputError naming it when there is none.
  const Tensor& at(const std::string& name) const;
};

// The whole file as bytes. Dtypes F32, F64, I32, BOOL; throws Error on two equal names, the name
// "__metadata__" and text that is no UTF-8.
HEED_EXPORT std::string safetensors_encode(const TensorFile& file);
// Every length, offset and shape is checked against the bytes before anything is allocated by it.
// `name` is what messages call it. Throws InputError: "[safetensors] NAME: what is wrong".
HEED_EXPORT TensorFile safetensors_decode(std::string_view bytes, const std::string& name);

HEED_EXPORT TensorFile read_safetensors(const std::string& path);
HEED_EXPORT void write_safetensors(const std::string& path, const TensorFile& file);

}  // namespace heed
