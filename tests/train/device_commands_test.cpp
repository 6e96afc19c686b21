#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/file.h"
#include "kernels/backend.h"
#include "kernels/precision.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/has_card.h"
#include "tests/train/run_program.h"

// --device of the commands that use a run: on a card the same words and figures as on the CPU, or a
// refusal.
namespace heed::test {
namespace {

using nlohmann::json;

class DeviceCommands : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_card()) {
      GTEST_SKIP() << "the cpu is the only device here";
    }
  }

  // Long enough that no word hangs on a rounding.
  void train(Arguments settings) const {
    settings.insert(settings.end(),
                    {"model.width=16", "train.steps=100", "train.learning_rate=0.01"});
    Arguments arguments = {"train", "empty.toml", "--run", "run"};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    write_file("test", folder_ / "empty.toml", "[train]\n");
    const Outcome trained = Program(folder_, arguments).wait();
    ASSERT_EQ(trained.code, 0) << trained.err;
  }

  std::string on_cpu(const Arguments& arguments, const std::string& input = "") const {
    const Outcome outcome = Program(folder_, arguments, input).wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("[run] heed "), std::string::npos) << outcome.err;
    return outcome.out;
  }
  std::string on_card(Arguments arguments, const std::string& input = "") const {
    arguments.insert(arguments.end(), {"--device", "cuda"});
    const Outcome outcome = Program(folder_, arguments, input).wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("[run] heed "), 0U) << outcome.err;
    EXPECT_NE(outcome.err.find(kernels::backend(card).description() + "\n"), std::string::npos)
        << outcome.err;
    return outcome.out;
  }

  void expect_same_figures(const Arguments& arguments) const {
    const json expected = json::parse(on_cpu(arguments));
    const json actual = json::parse(on_card(arguments));
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& [name, value] : expected.items()) {
      if (value.is_number_float()) {
        const double number = value.get<double>();
        EXPECT_NEAR(actual[name].get<double>(), number, 1e-5 * number) << name;
      } else {
        EXPECT_EQ(actual[name], value) << name;
      }
    }
  }

  TemporaryFolder folder_;
};

class DeviceCommandsOnPairs : public DeviceCommands,
                              public testing::WithParamInterface<const char*> {};

TEST_P(DeviceCommandsOnPairs, TranslateAndScoreAsOnTheCpu) {
  const std::string kind = GetParam();
  Arguments settings = {"model.kind=" + kind, "data.train=grammar:100:3-6", "data.validation=none",
                        "data.test=grammar:6:3-6"};
  if (kind == "transformer") {
    settings.insert(settings.end(), {"model.heads=2", "model.layers=1"});
  }
  train(settings);
  const Arguments translate = {"translate", "run", "--scores", "--beam", "3", "--n-best", "2"};
  const std::string input = "the small cat sleeps .\n\nthe dogs see the bird .\n";
  std::istringstream expected(on_cpu(translate, input));
  std::istringstream actual(on_card(translate, input));
  double score = 0;
  double same = 0;
  std::string text;
  std::string translation;
  for (int line = 0; line < 6; ++line) {
    expected >> score;
    actual >> same;
    EXPECT_NEAR(same, score, 2e-4) << "line " << line;
    std::getline(expected, text);
    std::getline(actual, translation);
    EXPECT_EQ(translation, text) << "line " << line;
  }
  EXPECT_TRUE(expected && actual);
  expect_same_figures({"evaluate", "run", "--json"});
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceCommandsOnPairs, testing::Values("rnnsearch", "transformer"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_F(DeviceCommands, GenerateAndScoreATextAsOnTheCpu) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "line " + std::to_string(i * i % 37) + "\n";
  }
  write_file("test", folder_ / "text.txt", text);
  train({"model.kind=causal_lm", "data.train=text.txt", "model.heads=2", "model.layers=1",
         "model.context=16", "data.batch_size=8"});
  const Arguments generate = {"generate", "run", "--prompt", "line ",
                              "--tokens", "30",  "--top-k",  "5"};
  EXPECT_EQ(on_card(generate), on_cpu(generate));
  expect_same_figures({"evaluate", "run", "--json"});
}

TEST_F(DeviceCommands, RoundProductsWhereTheyAreToldTo) {
  try {
    kernels::set_precision(card, kernels::Precision::bf16);
  } catch (const InputError& lacking) {
    GTEST_SKIP() << lacking.what();
  }
  kernels::set_precision(card, kernels::Precision::float32);
  train({"data.train=grammar:100:3-6", "data.validation=none", "data.test=grammar:6:3-6"});
  const Arguments evaluate = {"evaluate", "run", "--json", "--device", "cuda", "--precision"};
  const auto nll_in = [&](const std::string& precision) {
    Arguments arguments = evaluate;
    arguments.push_back(precision);
    const Outcome outcome = Program(folder_, arguments).wait();
    EXPECT_EQ(outcome.err.find(", products in bf16\n") != std::string::npos, precision == "bf16")
        << outcome.err;
    return json::parse(outcome.out)["nll"].get<double>();
  };
  const double nll = nll_in("float32");
  const double rounded = nll_in("bf16");
  EXPECT_NE(rounded, nll);
  EXPECT_NEAR(rounded, nll, 0.01 * nll);
}

// Before anything is read.
TEST(Device, ThatIsNotThereIsRefusedByEveryCommand) {
  const TemporaryFolder folder;
  for (const std::string command : {"translate", "generate", "evaluate"}) {
    const auto refused = [&](const std::string& option, const std::string& value) {
      const Outcome outcome = Program(folder, {command, "nosuch", option, value}).wait();
      EXPECT_EQ(outcome.code, 2);
      EXPECT_EQ(outcome.out, "");
      return outcome.err;
    };
    EXPECT_EQ(refused("--device", "gpu"),
              "[device] 'gpu' is no device; known are cpu, cuda, cuda:N\n");
    EXPECT_EQ(refused("--precision", "tf32"),
              "[device] the cpu computes in float32 alone: tf32 and bf16 are for graphics cards\n");
    if (!has_card()) {
      EXPECT_EQ(refused("--device", "cuda"),
                error_of<InputError>([] { kernels::backend(card); }) + "\n");
    }
  }
}

}  // namespace
}  // namespace heed::test
