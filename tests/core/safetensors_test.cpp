#include "core/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace heed {
namespace {

using namespace std::string_literals;

// A file by hand: the length as it is claimed, little-endian, then the rest.
std::string bytes_of(uint64_t claimed, std::string_view header, std::string_view data = "") {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(claimed >> shift & 0xff);
  }
  return bytes.append(header).append(data);
}

std::string bytes_of(std::string_view header, std::string_view data = "") {
  return bytes_of(header.size(), header, data);
}

// What follows the file's name in the message.
std::string refusal(std::string_view bytes) {
  try {
    safetensors_decode(bytes, "model");
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::string start = "[safetensors] model: ";
    return text.starts_with(start) ? text.substr(start.size()) : "without the name: " + text;
  }
  return "no error";
}

// A header with the one tensor w.
std::string header_of(const std::string& dtype, const std::string& shape,
                      const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TensorFile sample() {
  TensorFile file;
  file.metadata = {{"step", "12"}, {"note", "line\nline \"quoted\" \\ \xe2\x82\xac"}, {"", ""}};
  file.tensors = {
      {"bool", Tensor::from_vector<bool>({true, false, true}, {3})},
      {"empty", Tensor::empty({2, 0, 3}, DType::f64)},
      {"f32", Tensor::from_vector<float>({0.1f, -0.0f, 3e38f, 1e-45f, 5, 6}, {2, 3})},
      {"f64", Tensor::from_vector<double>({0.1, -1e308}, {1, 2, 1})},
      {"i32", Tensor::from_vector<int32_t>({INT32_MIN, INT32_MAX}, {2})},
      {"scalar", Tensor::scalar(7, DType::i32)},
  };
  return file;
}

void expect_equal(const TensorFile& actual, const TensorFile& expected) {
  EXPECT_EQ(actual.metadata, expected.metadata);
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < expected.tensors.size(); ++i) {
    const std::string& name = expected.tensors[i].name;
    const Tensor& tensor = expected.tensors[i].tensor;
    const Tensor& read = actual.tensors[i].tensor;
    EXPECT_EQ(actual.tensors[i].name, name);
    EXPECT_EQ(read.shape(), tensor.shape()) << name;
    ASSERT_EQ(read.dtype(), tensor.dtype()) << name;
    dispatch_all(tensor.dtype(), [&]<typename T>(T) {
      EXPECT_EQ(read.to_vector<T>(), tensor.to_vector<T>()) << name;
    });
  }
}

TEST(Safetensors, WritesTheFormat) {
  TensorFile file;
  file.tensors = {{"w", Tensor::from_vector<float>({1, -2}, {2})},
                  {"b", Tensor::from_vector<bool>({false, true, true}, {3})}};
  file.metadata = {{"k", "v"}};
  std::string header = R"({"__metadata__":{"k":"v"},)"
                       R"("b":{"data_offsets":[8,11],"dtype":"BOOL","shape":[3]},)"
                       R"("w":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(safetensors_encode(file), bytes_of(header, "\0\0\x80\x3f\0\0\0\xc0\0\1\1"s));
  EXPECT_EQ(safetensors_encode({}), bytes_of("{}      "));
}

TEST(Safetensors, ReadsTheFormat) {
  // The data in another order than the names, as other writers do it.
  const TensorFile file =
      safetensors_decode(bytes_of(R"( {"i" : {"dtype":"I32", "shape":[1,2], "data_offsets":[8,16]},
                    "d":{"shape":[],"dtype":"F64","data_offsets":[0,8],"more":[1]}} )",
                                  "\0\0\0\0\0\0\xf8\x3f\1\0\0\0\xff\xff\xff\xff"s),
                         "model");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "d");
  EXPECT_EQ(file.at("d").shape(), Shape{});
  EXPECT_EQ(file.at("d").to_vector<double>(), std::vector<double>{1.5});
  EXPECT_EQ(file.at("i").shape(), (Shape{1, 2}));
  EXPECT_EQ(file.at("i").to_vector<int32_t>(), (std::vector<int32_t>{1, -1}));
  EXPECT_TRUE(file.metadata.empty());
  EXPECT_TRUE(safetensors_decode(bytes_of("{}"), "model").tensors.empty());
}

TEST(Safetensors, RoundTripKeepsEverything) {
  expect_equal(safetensors_decode(safetensors_encode(sample()), "model"), sample());
}

TEST(Safetensors, RoundTripKeepsEveryBit) {
  const float quiet = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  TensorFile file;
  file.tensors = {{"x", Tensor::from_vector<float>({quiet, -infinity, -0.0f}, {3})}};
  const std::string bytes = safetensors_encode(file);
  const TensorFile read = safetensors_decode(bytes, "model");
  EXPECT_EQ(std::memcmp(read.at("x").raw_data(), file.at("x").raw_data(), 12), 0);
  EXPECT_EQ(safetensors_encode(read), bytes);
}

TEST(Safetensors, WritesStridedTensorsRowMajor) {
  const auto base = Tensor::from_vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7}, {8});
  const auto flags = Tensor::from_vector<bool>({true, false, false, true}, {2, 2});
  TensorFile file;
  file.tensors = {{"broadcast", base.as_strided({2, 2}, {0, 1}, 3)},
                  {"flags", flags.as_strided({2}, {3}, 0)},
                  {"transposed", base.as_strided({3, 2}, {1, 3}, 1)}};
  const TensorFile read = safetensors_decode(safetensors_encode(file), "model");
  EXPECT_EQ(read.at("broadcast").to_vector<int32_t>(), (std::vector<int32_t>{3, 4, 3, 4}));
  EXPECT_EQ(read.at("flags").to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ(read.at("transposed").to_vector<int32_t>(), (std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(read.at("transposed").is_contiguous());
}

TEST(Safetensors, TakesAnyUnicodeName) {
  // In the order of their bytes: control characters, quotes, umlauts, beyond the basic plane.
  const std::vector<std::string> names = {"",
                                          "\0"s,
                                          "\n\t",
                                          "a \"b\" \\ /",
                                          "a.b",
                                          "{",
                                          "\xc3\xa4",
                                          "\xe6\xb3\xa8\xe6\x84\x8f",
                                          "\xf0\x9f\x98\x80"};
  TensorFile file;
  for (size_t i = 0; i < names.size(); ++i) {
    file.tensors.push_back({names[i], Tensor::scalar(static_cast<double>(i))});
  }
  expect_equal(safetensors_decode(safetensors_encode(file), "model"), file);
  const TensorFile escaped = safetensors_decode(
      bytes_of(R"({"\u00e4\ud83d\ude00":{"dtype":"BOOL","shape":[0],"data_offsets":[0,0]}})"),
      "model");
  EXPECT_EQ(escaped.tensors[0].name, "\xc3\xa4\xf0\x9f\x98\x80");
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
  const Tensor one = Tensor::scalar(1);
  const auto error_of = [](const TensorFile& file) {
    return test::error_of([&] { safetensors_encode(file); });
  };
  EXPECT_EQ(error_of({{{"w", one}, {"v", one}, {"w", one}}, {}}),
            "[safetensors] two tensors are called 'w'");
  EXPECT_EQ(error_of({{{"__metadata__", one}}, {}}),
            "[safetensors] no tensor may be called '__metadata__'");
  EXPECT_EQ(error_of({{{"\xff", one}}, {}}), "[safetensors] a name or the metadata is no UTF-8");
  EXPECT_EQ(error_of({{}, {{"k", "\xc3"}}}), "[safetensors] a name or the metadata is no UTF-8");
}

TEST(Safetensors, NamesTheTensorThatIsMissing) {
  EXPECT_EQ(sample().at("scalar").item(), 7);
  EXPECT_EQ(test::error_of([] { sample().at("scale"); }),
            "[safetensors] there is no tensor 'scale'");
}

TEST(Safetensors, RefusesAWrongLength) {
  EXPECT_EQ(refusal(""), "0 bytes are too few for a safetensors file");
  EXPECT_EQ(refusal("1234567"), "7 bytes are too few for a safetensors file");
  EXPECT_EQ(refusal(bytes_of(0, "")), "the header is no JSON");
  EXPECT_EQ(refusal(bytes_of(3, "{}")), "the header claims 3 bytes, the file has 10");
  EXPECT_EQ(refusal(bytes_of(uint64_t{1} << 60, "{}")),
            "the header claims 1152921504606846976 bytes, the file has 10");
  EXPECT_EQ(refusal(bytes_of(UINT64_MAX, "{}")),
            "the header claims 18446744073709551615 bytes, the file has 10");
  constexpr size_t too_long = 100'000'001;
  EXPECT_EQ(refusal(bytes_of(uint64_t{too_long}, std::string().append(too_long, ' '))),
            "the header claims 100000001 bytes, the file has 100000009");
}

TEST(Safetensors, RefusesAHeaderThatIsNoObject) {
  for (const std::string header :
       {"{", "{}}", "{\"w\"}", "nonsense", "\xff", "{\"\xff\":1}", "{'w':1}", "{} // end"}) {
    EXPECT_EQ(refusal(bytes_of(header)), "the header is no JSON") << header;
  }
  for (const std::string header : {"[]", "3", "null", "\"w\""}) {
    EXPECT_EQ(refusal(bytes_of(header)), "the header is no JSON object") << header;
  }
}

TEST(Safetensors, RefusesDeepNestingWithoutRecursion) {
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += "{\"w\":";
  }
  EXPECT_EQ(refusal(bytes_of(std::string(100'000, '['))), "the header is nested too deep");
  EXPECT_EQ(refusal(bytes_of(objects)), "the header is nested too deep");
  EXPECT_EQ(
      refusal(bytes_of("{\"w\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}")),
      "the header is nested too deep");
}

TEST(Safetensors, RefusesMissingFields) {
  for (const std::string entry : {
           "3",
           "null",
           "[]",
           "{}",
           R"({"shape":[],"data_offsets":[0,0]})",
           R"({"dtype":"F32","data_offsets":[0,0]})",
           R"({"dtype":"F32","shape":[]})",
           R"({"dtype":1,"shape":[],"data_offsets":[0,0]})",
           R"({"dtype":"F32","shape":4,"data_offsets":[0,0]})",
           R"({"dtype":"F32","shape":[],"data_offsets":0})",
           R"({"dtype":"F32","shape":[],"data_offsets":[0]})",
           R"({"dtype":"F32","shape":[],"data_offsets":[0,0,0]})",
       }) {
    EXPECT_EQ(refusal(bytes_of("{\"w\":" + entry + "}")),
              "w: dtype, shape or data_offsets is missing or of the wrong kind")
        << entry;
  }
}

TEST(Safetensors, RefusesUnknownDTypes) {
  for (const std::string dtype : {"F16", "BF16", "I64", "f32", ""}) {
    EXPECT_EQ(refusal(bytes_of(header_of("\"" + dtype + "\"", "[0]", "[0,0]"))),
              "w: dtype " + dtype + " is not supported (F32, F64, I32, BOOL are)");
  }
}

TEST(Safetensors, TakesEightDimensionsAndNoMore) {
  EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[1,1,1,1,1,1,1,1]", "[0,1]"), "\1")),
            "no error");
  EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "\1")),
            "w: 9 dimensions, at most 8 are supported");
}

TEST(Safetensors, RefusesWhatIsNoSize) {
  for (const std::string size : {"-1", "1.5", "1.0", "1e1", "\"1\"", "null", "[1]", "true",
                                 "9223372036854775808", "18446744073709551616"}) {
    const std::string expected = "w: a size or offset is no number from 0 on";
    EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[" + size + "]", "[0,1]"), "\1")), expected)
        << size;
    EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[1]", "[" + size + ",1]"), "\1")), expected)
        << size;
    EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[1]", "[0," + size + "]"), "\1")), expected)
        << size;
  }
}

TEST(Safetensors, RefusesShapesThatOverflow) {
  const std::string big = "4611686018427387904";  // 2^62
  for (const std::string& shape : {"[" + big + "]", "[" + big + "," + big + "]",
                                   "[" + big + "," + big + ",0]", "[0," + big + "," + big + "]",
                                   "[" + big + ",0," + big + "]", "[65536,65536,65536,65536]"s}) {
    EXPECT_EQ(refusal(bytes_of(header_of("\"F32\"", shape, "[0,0]"))),
              "w: the shape has more bytes than 64 bits count")
        << shape;
  }
  EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[0," + big + "]", "[0,0]"))), "no error");
}

TEST(Safetensors, RefusesOffsetsOutsideTheData) {
  const std::pair<std::string, std::string> cases[] = {
      {"[0,5]", "0 .. 5"},
      {"[4,0]", "4 .. 0"},
      {"[4,8]", "4 .. 8"},
      {"[0,9223372036854775807]", "0 .. 9223372036854775807"},
      {"[9223372036854775807,9223372036854775807]", "9223372036854775807 .. 9223372036854775807"},
  };
  for (const auto& [offsets, named] : cases) {
    EXPECT_EQ(refusal(bytes_of(header_of("\"F32\"", "[1]", offsets), "1234")),
              "w: data_offsets " + named + " leave the 4 bytes of data");
  }
}

TEST(Safetensors, RefusesASizeThatIsNotTheShapes) {
  EXPECT_EQ(refusal(bytes_of(header_of("\"F32\"", "[2,3]", "[0,4]"), "1234")),
            "w: shape (2, 3) takes 24 bytes, data_offsets give 4");
  EXPECT_EQ(refusal(bytes_of(header_of("\"F64\"", "[]", "[0,4]"), "1234")),
            "w: shape () takes 8 bytes, data_offsets give 4");
  EXPECT_EQ(refusal(bytes_of(header_of("\"F32\"", "[0]", "[0,4]"), "1234")),
            "w: shape (0) takes 0 bytes, data_offsets give 4");
}

TEST(Safetensors, RefusesGapsOverlapsAndTrailingBytes) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"I32","shape":[1],"data_offsets":)" + a +
           R"(},"b":{"dtype":"I32","shape":[1],"data_offsets":)" + b + "}}";
  };
  const std::string data(9, '\0');
  EXPECT_EQ(refusal(bytes_of(two("[0,4]", "[5,9]"), data)),
            "b: its bytes begin at 5, 4 is expected");
  EXPECT_EQ(refusal(bytes_of(two("[5,9]", "[1,5]"), data)),
            "b: its bytes begin at 1, 0 is expected");
  EXPECT_EQ(refusal(bytes_of(two("[0,4]", "[3,7]"), data)),
            "b: its bytes begin at 3, 4 is expected");
  EXPECT_EQ(refusal(bytes_of(two("[0,4]", "[0,4]"), data)),
            "b: its bytes begin at 0, 4 is expected");
  EXPECT_EQ(refusal(bytes_of(two("[4,8]", "[0,4]"), data)), "1 bytes belong to no tensor");
  EXPECT_EQ(refusal(bytes_of("{}", data)), "9 bytes belong to no tensor");
}

TEST(Safetensors, RefusesABoolThatIsNone) {
  EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[3]", "[0,3]"), "\1\0\2"s)),
            "w: a byte of a BOOL tensor is neither 0 nor 1");
  EXPECT_EQ(refusal(bytes_of(header_of("\"BOOL\"", "[1]", "[0,1]"), "\xff")),
            "w: a byte of a BOOL tensor is neither 0 nor 1");
}

TEST(Safetensors, RefusesANameThatIsThereTwice) {
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(refusal(bytes_of("{\"w\":" + entry + ",\"w\":" + entry + "}", "1234")),
            "'w' is there twice");
  EXPECT_EQ(refusal(bytes_of(R"({"__metadata__":{},"__metadata__":{}})")),
            "'__metadata__' is there twice");
}

TEST(Safetensors, RefusesMetadataThatIsNoText) {
  EXPECT_EQ(refusal(bytes_of(R"({"__metadata__":["k"]})")), "__metadata__ is no object");
  EXPECT_EQ(refusal(bytes_of(R"({"__metadata__":{"k":1}})")), "__metadata__.k is no string");
  EXPECT_EQ(refusal(bytes_of(R"({"__metadata__":{}})")), "no error");
}

// Whatever happens to the bytes: the file is refused in words, or what was read can be written.
TEST(Safetensors, SurvivesAnyDamage) {
  const std::string whole = safetensors_encode(sample());
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string_view telling = "{}[]\",:0123456789-.eFI\\ \x01\xff";
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (size_t edits = 1 + below(3); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = below(bytes.size());
      switch (below(6)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
          break;
        case 1:
          bytes[below(std::min<size_t>(bytes.size(), 8))] = static_cast<char>(below(256));
          break;
        case 2:
          bytes.erase(at, 1 + below(8));
          break;
        case 3:
          bytes.insert(at, 1 + below(8), telling[below(telling.size())]);
          break;
        case 4:
          bytes.resize(at);
          break;
        default:
          bytes[at] = telling[below(telling.size())];
      }
    }
    try {
      const std::string again = safetensors_encode(safetensors_decode(bytes, "model"));
      EXPECT_EQ(safetensors_encode(safetensors_decode(again, "model")), again);
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("[safetensors] model: ")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 2000);
}

TEST(Safetensors, ReadsAndWritesFiles) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  write_safetensors(path, sample());
  expect_equal(read_safetensors(path), sample());
  EXPECT_EQ(test::error_of([&] { read_safetensors(folder / "none"); }),
            "[safetensors] " + (folder / "none") + ": no such file");
  EXPECT_EQ(test::error_of([&] { write_safetensors(folder / "none/model", sample()); }),
            "[safetensors] " + (folder / "none/model.tmp") +
                ": cannot be created: No such file or directory");
}

}  // namespace
}  // namespace heed
