#include "core/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr size_t length_bytes = 8;
constexpr uint64_t longest_header = 100'000'000;  // the format's own limit
constexpr int deepest_header = 8;
constexpr const char* metadata_key = "__metadata__";

struct FormatDType {
  const char* name;
  DType dtype;
};
constexpr FormatDType format_dtypes[] = {
    {"F32", DType::f32}, {"F64", DType::f64}, {"I32", DType::i32}, {"BOOL", DType::boolean}};

const char* format_name(DType dtype) {
  return std::find_if(std::begin(format_dtypes), std::end(format_dtypes),
                      [&](const FormatDType& entry) { return entry.dtype == dtype; })
      ->name;
}

std::string tensor_bytes(const Tensor& tensor) {
  return dispatch_all(tensor.dtype(), [&]<typename T>(T) {
    const auto values = tensor.to_vector<T>();
    std::string bytes(values.size() * sizeof(T), '\0');
    if constexpr (std::is_same_v<T, bool>) {
      std::copy(values.begin(), values.end(), bytes.begin());
    } else if (!bytes.empty()) {
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    return bytes;
  });
}

// A header as JSON, without recursing into what is nested too deep.
json parse_header(std::string_view text, const std::string& name) {
  std::set<std::string> names;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    HEED_CHECK_INPUT(depth <= deepest_header, "safetensors", "{}: the header is nested too deep",
                     name);
    if (event == json::parse_event_t::key && depth == 1) {
      const auto key = parsed.get<std::string>();
      HEED_CHECK_INPUT(names.insert(key).second, "safetensors", "{}: '{}' is there twice", name,
                       key);
    }
    return true;
  };
  try {
    json header = json::parse(text.begin(), text.end(), watch);
    HEED_CHECK_INPUT(header.is_object(), "safetensors", "{}: the header is no JSON object", name);
    return header;
  } catch (const json::exception&) {
    throw InputError("safetensors", fmt::format("{}: the header is no JSON", name));
  }
}

std::string_view header_text(std::string_view bytes, const std::string& name) {
  HEED_CHECK_INPUT(bytes.size() >= length_bytes, "safetensors",
                   "{}: {} bytes are too few for a safetensors file", name, bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  HEED_CHECK_INPUT(length <= longest_header && length <= bytes.size() - length_bytes, "safetensors",
                   "{}: the header claims {} bytes, the file has {}", name, length, bytes.size());
  return bytes.substr(length_bytes, length);
}

int64_t non_negative(const json& value, const std::string& name, const std::string& tensor) {
  HEED_CHECK_INPUT(value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{INT64_MAX},
                   "safetensors", "{}: {}: a size or offset is no number from 0 on", name, tensor);
  return value.get<int64_t>();
}

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  int64_t begin;
  int64_t end;
};

Entry parse_entry(const std::string& tensor, const json& value, int64_t data_size,
                  const std::string& name) {
  const auto fail = [&](std::string_view what) -> InputError {
    return InputError("safetensors", fmt::format("{}: {}: {}", name, tensor, what));
  };
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets") || !value["dtype"].is_string() ||
      !value["shape"].is_array() || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2) {
    throw fail("dtype, shape or data_offsets is missing or of the wrong kind");
  }
  const auto dtype_text = value["dtype"].get<std::string>();
  const auto* known =
      std::find_if(std::begin(format_dtypes), std::end(format_dtypes),
                   [&](const FormatDType& entry) { return dtype_text == entry.name; });
  if (known == std::end(format_dtypes)) {
    throw fail(fmt::format("dtype {} is not supported (F32, F64, I32, BOOL are)", dtype_text));
  }
  if (value["shape"].size() > Shape::max_rank) {
    throw fail(fmt::format("{} dimensions, at most {} are supported", value["shape"].size(),
                           int{Shape::max_rank}));
  }
  Entry entry{tensor, known->dtype, {}, 0, 0};
  int64_t span = dtype_size(entry.dtype);  // sizes of 0 count as 1: the strides have to fit too
  for (const json& size : value["shape"]) {
    entry.shape.push_back(non_negative(size, name, tensor));
    if (__builtin_mul_overflow(span, std::max<int64_t>(entry.shape.dim(-1), 1), &span)) {
      throw fail("the shape has more bytes than 64 bits count");
    }
  }
  const int64_t bytes = entry.shape.numel() * dtype_size(entry.dtype);
  entry.begin = non_negative(value["data_offsets"][0], name, tensor);
  entry.end = non_negative(value["data_offsets"][1], name, tensor);
  if (entry.begin > entry.end || entry.end > data_size) {
    throw fail(fmt::format("data_offsets {} .. {} leave the {} bytes of data", entry.begin,
                           entry.end, data_size));
  }
  if (entry.end - entry.begin != bytes) {
    throw fail(fmt::format("shape {} takes {} bytes, data_offsets give {}", entry.shape.to_string(),
                           bytes, entry.end - entry.begin));
  }
  return entry;
}

// The tensors must cover the data without gap or overlap, as the format demands.
void check_cover(std::vector<Entry> entries, int64_t data_size, const std::string& name) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t position = 0;
  for (const Entry& entry : entries) {
    HEED_CHECK_INPUT(entry.begin == position, "safetensors",
                     "{}: {}: its bytes begin at {}, {} is expected", name, entry.name, entry.begin,
                     position);
    position = entry.end;
  }
  HEED_CHECK_INPUT(position == data_size, "safetensors", "{}: {} bytes belong to no tensor", name,
                   data_size - position);
}

}  // namespace

const Tensor& TensorFile::at(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& entry) { return entry.name == name; });
  HEED_CHECK_INPUT(found != tensors.end(), "safetensors", "there is no tensor '{}'", name);
  return found->tensor;
}

std::string safetensors_encode(const TensorFile& file) {
  json header = json::object();
  if (!file.metadata.empty()) {
    header[metadata_key] = file.metadata;
  }
  std::string data;
  for (const NamedTensor& entry : file.tensors) {
    HEED_CHECK(entry.name != metadata_key, "safetensors", "no tensor may be called '{}'",
               entry.name);
    HEED_CHECK(!header.contains(entry.name), "safetensors", "two tensors are called '{}'",
               entry.name);
    const std::string bytes = tensor_bytes(entry.tensor);
    const Shape& shape = entry.tensor.shape();
    header[entry.name] = {{"dtype", format_name(entry.tensor.dtype())},
                          {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                          {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    throw Error("safetensors", "a name or the metadata is no UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the data aligned
  const uint64_t length = text.size();
  std::string result(length_bytes, '\0');
  std::memcpy(result.data(), &length, length_bytes);
  return result + text + data;
}

TensorFile safetensors_decode(std::string_view bytes, const std::string& name) {
  const std::string_view text = header_text(bytes, name);
  const json header = parse_header(text, name);
  const std::string_view data = bytes.substr(length_bytes + text.size());
  TensorFile file;
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == metadata_key) {
      HEED_CHECK_INPUT(value.is_object(), "safetensors", "{}: __metadata__ is no object", name);
      for (const auto& [field, content] : value.items()) {
        HEED_CHECK_INPUT(content.is_string(), "safetensors", "{}: __metadata__.{} is no string",
                         name, field);
        file.metadata[field] = content.get<std::string>();
      }
      continue;
    }
    entries.push_back(parse_entry(key, value, static_cast<int64_t>(data.size()), name));
  }
  check_cover(entries, static_cast<int64_t>(data.size()), name);
  for (const Entry& entry : entries) {
    const Tensor tensor = Tensor::empty(entry.shape, entry.dtype);
    const std::string_view part =
        data.substr(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.end - entry.begin));
    HEED_CHECK_INPUT(
        entry.dtype != DType::boolean ||
            std::all_of(part.begin(), part.end(), [](char c) { return c == 0 || c == 1; }),
        "safetensors", "{}: {}: a byte of a BOOL tensor is neither 0 nor 1", name, entry.name);
    device_memory(tensor.device()).copy_from_host(tensor.raw_data(), part.data(), part.size());
    file.tensors.push_back({entry.name, tensor});
  }
  return file;
}

TensorFile read_safetensors(const std::string& path) {
  return safetensors_decode(read_file("safetensors", path), path);
}

void write_safetensors(const std::string& path, const TensorFile& file) {
  write_file("safetensors", path, safetensors_encode(file));
}

}  // namespace heed
