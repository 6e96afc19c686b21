// A safetensors file. Its first eight bytes, the header's length, come from the input as well.
#include "core/safetensors.h"

#include "core/error.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {
namespace {

using namespace std::string_literals;

std::string with_length(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(header.size() >> shift & 0xff);
  }
  return bytes + header + data;
}

}  // namespace

void read(std::string_view input) {
  TensorFile file;
  try {
    file = safetensors_decode(input, "fuzz");
  } catch (const InputError&) {
    return;
  }
  int64_t size = 0;
  for (const NamedTensor& entry : file.tensors) {
    size += entry.tensor.numel() * dtype_size(entry.tensor.dtype());
  }
  demand(size <= static_cast<int64_t>(input.size()), "no more data than bytes");
  const std::string written = safetensors_encode(file);
  demand(safetensors_encode(safetensors_decode(written, "again")) == written,
         "what was written reads back the same");
}

std::vector<std::string> seeds() {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"note", "\"\\\xC3\xA9"}};
  file.tensors = {{"bool", Tensor::from_vector<bool>({true, false}, {2})},
                  {"f32", Tensor::from_vector<float>({1, 2, 3, 4}, {2, 2})},
                  {"f64", Tensor::from_vector<double>({0.5}, {1, 1, 1})},
                  {"i32", Tensor::from_vector<int32_t>({7, 8}, {2})},
                  {"none", Tensor::empty({0, 3}, DType::f32)}};
  return {
      safetensors_encode(file),
      safetensors_encode({}),
      with_length(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "\0\0\x80?"s),
      with_length(R"( { "a" : {"data_offsets":[0,0],"shape":[1152921504606846976,0],)"
                  R"("dtype":"I32","more":{"x":[[]]}} } )",
                  ""),
      "\0\0\0\0\0\0\0\x10{}"s,  // claims 2^60 bytes
  };
}

std::vector<std::string> words() {
  return {"\"__metadata__\":{",
          "\"dtype\":\"F32\",",
          "\"BOOL\"",
          "\"F64\"",
          "\"BF16\"",
          "\"shape\":[",
          "\"data_offsets\":[",
          "],",
          "},",
          "\\u0000",
          "\\ud800",
          "1e5",
          "-0",
          "4294967296",
          "9223372036854775807",
          "18446744073709551615",
          "{}      "};
}

}  // namespace heed::fuzz
