// The events of a run, and the curves that are drawn of them.
#include "train/metrics.h"

#include "core/error.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"
#include "train/report/run_report.h"

namespace heed::fuzz {

void read(std::string_view input) {
  static const MemoryFile file;
  file.hold(input);
  std::vector<train::MetricsEvent> events;
  try {
    events = train::read_metrics(file.path());
  } catch (const InputError&) {
    return;
  }
  for (const train::PageSection& section : train::curve_sections(events)) {
    demand(section.body.find("nan") == std::string::npos &&
               section.body.find("inf") == std::string::npos,
           "a curve is made of finite numbers");
  }
}

std::vector<std::string> seeds() {
  return {
      R"({"event":"train","step":1,"epoch":0.5,"loss":3.5,"nll":3.25,"learning_rate":0.001})"
      "\n"
      R"({"event":"train","step":2,"epoch":1.0,"nll":1e-3,"gradient_norm":1.5e10})"
      "\n"
      R"({"event":"validation","step":2,"epoch":1,"nll":2,"bleu":12.5,"chrf":30,"exact":0.25})"
      "\n",
      R"({"event":"validation","step":9007199254740993,"epoch":0,"nll":-1e308,"more":[{}]})"
      "\n{\"event\":\"tra",
  };
}

std::vector<std::string> words() {
  return {"\"event\":\"train\"",
          "\"event\":\"validation\"",
          "\"step\":",
          "\"epoch\":",
          "\"nll\":",
          "\"bleu\":",
          "\"exact\":",
          "\"learning_rate\":",
          "\"alignment_accuracy\":",
          "null",
          "true",
          "1e308",
          "-1e308",
          "1e400",
          "5e-324",
          "-9223372036854775808",
          "18446744073709551615",
          "[[[[",
          "}\n{"};
}

}  // namespace heed::fuzz
