#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "autograd/op_cases/op_cases.h"
#include "tests/autograd/op_case_names.h"

// Reads which names the functions record under, and expects cases for each.
namespace heed {
namespace {

using Names = std::set<std::string>;

std::string read(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Names matches(const std::string& text, const std::string& pattern) {
  Names names;
  const std::regex regex(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

// record("name", ...), or helper("name", ...) where helper takes `const char* op` and records it.
Names recorded_in(const std::string& source) {
  Names names = matches(source, R"re(\brecord\(\s*"(\w+)")re");
  for (const std::string& helper : matches(source, R"(\b(\w+)\(const char\* op\b)")) {
    const size_t begin = source.find(helper + "(const char* op");
    const std::string body = source.substr(begin, source.find("\n}\n", begin) - begin);
    if (std::regex_search(body, std::regex(R"(\brecord\(\s*op\b)"))) {
      names.merge(matches(source, "\\b" + helper + R"re(\(\s*"(\w+)")re"));
    }
  }
  return names;
}

Names recorded() {
  Names names;
  const std::filesystem::path folder = HEED_SOURCE_DIR "/autograd/functions";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cpp") {
      names.merge(recorded_in(read(entry.path())));
    }
  }
  return names;
}

TEST(Coverage, NamesAreFoundDirectlyAndThroughHelpers) {
  EXPECT_EQ(recorded_in("Tensor unary(const char* op, int) {\n  return record(op, {x});\n}\n"
                        "void check(const char* op) {\n  f(op);\n}\n"
                        "Tensor tanh() { return unary(\"tanh\", 1); }\n"
                        "Tensor sum() { check(\"no\"); return record(\n  \"sum\", {x}); }\n"),
            Names({"sum", "tanh"}));
}

TEST(Coverage, EveryRecordedOpHasCases) {
  const std::vector<std::string> names = test::op_names();
  EXPECT_EQ(recorded(), Names(names.begin(), names.end()));
}

TEST(Coverage, EveryRecordedOpHasErrorCases) {
  Names refused;
  for (const ErrorCase& error_case : error_cases()) {
    refused.insert(error_case.op);
  }
  for (const std::string& name : recorded()) {
    EXPECT_EQ(refused.count(name), 1U) << name;
  }
}

TEST(Coverage, VariantsAreToldApart) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const OpCase& op_case : op_cases()) {
    EXPECT_TRUE(seen.emplace(op_case.op, op_case.variant).second)
        << op_case.op << ": " << op_case.variant;
  }
}

}  // namespace
}  // namespace heed
