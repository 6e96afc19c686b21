#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/random.h"
#include "nn/init.h"
#include "nn/models/causal_lm.h"
#include "nn/models/transformer.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"
#include "train/bench/synthetic.h"
#include "train/bench/training_workloads.h"

namespace heed::test {
namespace {

using namespace heed::train;
using nlohmann::json;

TEST(Bench, CountsWeightsThatAreMultipliedWith) {
  Generator generator(1);
  nn::CausalLmOptions options;
  options.vocabulary = 10;
  options.width = 8;
  options.layers = 2;
  options.heads = 2;
  // Four projections and two of four widths a layer; the embedding is the output as well.
  constexpr int64_t layers = 2 * (4 * 64 + 2 * 4 * 64);
  EXPECT_EQ(product_weights(nn::CausalLm(options, generator)), layers + 80);
  options.tie_embeddings = false;
  EXPECT_EQ(product_weights(nn::CausalLm(options, generator)), layers + 80)
      << "tables that are only looked up do not count";
}

// The counts that the presets are known by: 26.7 GFLOP for RNNsearch, 4.0 for nanoGPT's recipe.
TEST(Bench, CountsFlopsOfAStep) {
  const nn::SkipInitialization only_counted;
  const auto rnnsearch = train_rnnsearch();
  EXPECT_NEAR(rnnsearch->flops(), 26.7e9, 0.05e9);
  EXPECT_EQ(rnnsearch->tokens(), 1024);
  const auto gpt_small = train_gpt_small();
  EXPECT_NEAR(gpt_small->flops(), 4.0e9, 0.05e9);
  EXPECT_EQ(gpt_small->tokens(), 768);
}

TEST(Bench, SyntheticIdsAreTokensAndRepeat) {
  const auto ids = synthetic_ids({3, 50}, 7, 1).to_vector<int32_t>();
  EXPECT_EQ(*std::ranges::min_element(ids), 4);
  EXPECT_EQ(*std::ranges::max_element(ids), 6);
  EXPECT_EQ(synthetic_ids({3, 50}, 7, 1).to_vector<int32_t>(), ids);
  EXPECT_NE(synthetic_ids({3, 50}, 7, 2).to_vector<int32_t>(), ids);
}

TEST(Bench, PrintsOneObjectAPreset) {
  const TemporaryFolder folder;
  const Outcome outcome =
      Program(folder, {"bench", "gpt-small", "--seconds", "0.01", "--json"}, "").wait();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json values = json::parse(outcome.out);
  EXPECT_EQ(values["preset"], "gpt-small");
  EXPECT_GE(values["runs"], 3);
  const double seconds = values["seconds_per_step"];
  EXPECT_GT(seconds, 0);
  EXPECT_NEAR(values["tokens_per_second"].get<double>() * seconds, 768, 1e-6);
  EXPECT_NEAR(values["gflops"].get<double>() * seconds, 4.0, 0.05);
  EXPECT_NEAR(values["share_of_peak"].get<double>(),
              values["gflops"].get<double>() / values["sgemm_peak_gflops"].get<double>(), 1e-9);
  EXPECT_GT(values["extra_mib"], 1);
  EXPECT_GT(values["peak_rss_mib"], values["extra_mib"]);
}

// The process keeps the peak of what it did before.
TEST(Bench, ThePeakOfTheProcessIsToldOfASinglePreset) {
  const TemporaryFolder folder;
  const Outcome outcome =
      Program(folder, {"bench", "gpt-small", "gpt-small", "--seconds", "0.01", "--json"}, "")
          .wait();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("extra_mib"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("peak_rss_mib"), std::string::npos) << outcome.out;
}

TEST(Bench, DrawsPicturesAlone) {
  const TemporaryFolder folder;
  const Outcome outcome = Program(folder, {"bench", "--growth", "growth.png"}, "").wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "[heed] --growth is growth.png: a name ending in .svg (a picture) is expected\n");
}

TEST(Bench, PrecisionIsThatOfACard) {
  const TemporaryFolder folder;
  const auto refused = [&](const char* precision) {
    const Outcome outcome =
        Program(folder, {"bench", "gpt-small", "--precision", precision}, "").wait();
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_EQ(refused("bf17"),
            "[heed] --precision is bf17, \"float32\" or \"tf32\" or \"bf16\" is expected\n");
  EXPECT_EQ(refused("bf16"),
            "[device] the cpu computes in float32 alone: tf32 and bf16 are for graphics cards\n");
}

TEST(Bench, NamesTheNearestPreset) {
  const TemporaryFolder folder;
  const Outcome outcome = Program(folder, {"bench", "gpt-smal"}, "").wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "[bench] there is no preset called 'gpt-smal', did you mean 'gpt-small'?; there are "
            "gpt-small, gpt-medium, rnnsearch, transformer, attention, generate, translate\n");
}

}  // namespace
}  // namespace heed::test
