// Run folders and checkpoints that mean harm: refused in words, before memory is taken by them.
#include <gtest/gtest.h>

#include <functional>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/svg_text.h"
#include "train/enough_weights.h"
#include "train/fingerprint.h"
#include "train/language_model.h"
#include "train/metrics.h"
#include "train/report/run_report.h"
#include "train/run_folder.h"
#include "train/translator.h"

namespace heed::train {
namespace {

std::string refusal(const std::function<void()>& action) {
  return test::error_of<InputError>(action);
}

TEST(HostileRun, NumbersThatAreNoStepAreNoEvent) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "metrics.jsonl";
  const std::string deep(100'000, '[');
  for (const std::string& step : {std::string("1e300"), std::string("1.5"), std::string("\"1\""),
                                  std::string("9223372036854775808"), std::string("-1e400"),
                                  deep + std::string(100'000, ']'), deep}) {
    write_file("test", path, R"({"event":"train","epoch":1,"step":)" + step + "}\n");
    EXPECT_EQ(refusal([&] { read_metrics(path); }), "[metrics] " + path + ":1: is no event")
        << step.substr(0, 20);
  }
}

TEST(HostileRun, NumbersWithoutAPlaceMakeNoCurve) {
  MetricsEvent far{"validation", 1, 1, {{"nll", -1e308}, {"exact", 1e99}}};
  EXPECT_TRUE(curve_sections({far}).empty());
  MetricsEvent near{"validation", 2, 1, {{"nll", 3}}};
  const auto sections = curve_sections({far, near});
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(test::count_of(sections[0].body, "<svg"), 1U);
}

Checkpoint small_translator(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"data.train=grammar:20:3-6", "model.width=4"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  Translator translator;
  translator.config = parse_config("", "small", all);
  translator.text =
      build_text(translator.config,
                 load_corpus(translator.config, translator.config.data.train, data::Split::train));
  Generator generator(3);
  translator.model = make_translation_model(translator.config, translator.text, generator);
  Checkpoint checkpoint = checkpoint_of(translator);
  checkpoint.path = "small.safetensors";
  return checkpoint;
}

// A checkpoint whose field says something else, with the checksum of that.
void rewrite(const std::string& path, const std::string& field, const std::string& was,
             const std::string& is) {
  TensorFile file = read_safetensors(path);
  std::string& text = file.metadata[field];
  text.replace(text.find(was), was.size(), is);
  const std::string none(16, '0');
  file.metadata["heed.checksum"] = none;
  std::string bytes = safetensors_encode(file);
  const std::string key = "\"heed.checksum\":\"";
  bytes.replace(bytes.find(key) + key.size(), none.size(), fmt::format("{:016x}", hash_of(bytes)));
  write_file("test", path, bytes);
}

TEST(HostileRun, AStateOfOtherThanWholeNumbersIsRefused) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  for (const auto& [was, is] :
       {std::pair("\"step\":0", "\"step\":0"), std::pair("\"step\":0", "\"step\":1e300"),
        std::pair("\"position\":0", "\"position\":1.5"),
        std::pair("\"position\":0", "\"position\":-5"),
        std::pair("\"skipped_in_a_row\":0", "\"skipped_in_a_row\":1e300"),
        std::pair("\"skipped_in_a_row\":0", "\"skipped_in_a_row\":-1"),
        std::pair("\"steps_an_epoch\":1", "\"steps_an_epoch\":0"),
        std::pair("\"steps_an_epoch\":1", "\"steps_an_epoch\":1000000000001"),
        std::pair("\"best_step\":-1", "\"best_step\":-2"),
        std::pair("_random\":[0,", "_random\":[-1,"),
        std::pair("\"best_step\":-1", "\"best_step\":18446744073709551615")}) {
    save_checkpoint(path, small_translator({}));
    rewrite(path, "heed.state", was, is);
    EXPECT_EQ(refusal([&] { load_checkpoint(path); }),
              was == std::string(is) ? "no error"
                                     : "[checkpoint] " + path + ": heed.state cannot be read")
        << is;
  }
}

TEST(HostileRun, AliasesThatAreNoneAreRefused) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  save_checkpoint(path, small_translator({}));
  rewrite(path, "heed.aliases", "{", "{1");
  EXPECT_EQ(refusal([&] { load_checkpoint(path); }),
            "[checkpoint] " + path + ": heed.aliases cannot be read");
}

// Of a newer heed, say: what was not understood is neither passed over nor set aside.
TEST(HostileRun, AWholeCheckpointThatIsNotUnderstoodIsNoDamagedOne) {
  const test::TemporaryFolder folder;
  const RunFolder run(folder / "run");
  run.create();
  Checkpoint checkpoint = small_translator({});
  for (const int64_t step : {1, 2}) {
    checkpoint.state.step = step;
    run.save(checkpoint, true, 2);
  }
  const std::string newer = run.checkpoint_path(2);
  rewrite(newer, "heed.format", "1", "2");
  EXPECT_EQ(
      refusal([&] { run.load_latest(); }),
      "[checkpoint] " + newer + " has format 2, this heed reads 1; use the heed that wrote it");
  rewrite(run.best_path(), "heed.format", "1", "2");
  EXPECT_EQ(refusal([&] { run.load_best(); }),
            "[checkpoint] " + run.best_path() +
                " has format 2, this heed reads 1; use the heed that wrote it");
  run.save(checkpoint, true, 2);
  rewrite(newer, "heed.config", "width = 4", "girth = 4");
  EXPECT_EQ(refusal([&] { run.load_latest(); }).find("[config] unknown key 'girth' in [model]"),
            0U);
}

// A heed that has become stricter with what a person writes reads what was trained before.
TEST(HostileRun, AConfigIsHeldToWhatHeedNeedsAlone) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  const auto says = [&](const std::string& was, const std::string& is) {
    save_checkpoint(path, small_translator({}));
    rewrite(path, "heed.config", was, is);
    return refusal([&] { load_checkpoint(path); });
  };
  EXPECT_EQ(says("\nsteps = 0", "\nsteps = 7"), "no error") << "beside epochs";
  EXPECT_EQ(says("\nn_best = 1", "\nn_best = 9"), "no error") << "above beam_size";
  EXPECT_EQ(says("\n# heads = 4", "\nheads = 4"), "no error") << "of no effect";
  EXPECT_EQ(load_checkpoint(path).config.model.width, 4);
  const auto place = [&](const std::string& key) {
    const std::string config = write_toml(small_translator({}).config);
    return ": " + path +
           fmt::format(
               ":{}", 2 + std::count(config.begin(),
                                     config.begin() + static_cast<std::ptrdiff_t>(config.find(key)),
                                     '\n'));
  };
  EXPECT_EQ(says("\nwidth = 4", "\nwidth = 0"),
            "[config] model.width is 0, from 1 to 65536 is expected" + place("\nwidth"));
  EXPECT_EQ(says("\nlog_every = 50", "\nlog_every = 0"),
            "[config] run.log_every is 0, at least 1 is expected" + place("\nlog_every"));
  EXPECT_EQ(says("\ntrain = \"grammar:20:3-6\"", "\ntrain = \"none\""),
            "[config] data.train is \"none\", there is nothing to learn from" + place("\ntrain"));
  EXPECT_EQ(says("\ntask = \"translation\"", "\ntask = \"language_model\""),
            "[config] model.kind = \"rnnsearch\" needs data.task = \"translation\", which is "
            "\"language_model\"" +
                place("\nkind") + place("\ntask").replace(0, 1, ","));
}

// They come from a config that was checked: a word without a meaning is a bug of heed's.
TEST(HostileRun, NoWordIsTakenForAnother) {
  const Checkpoint checkpoint = small_translator({});
  const auto said = [&](const std::function<void(ModelConfig&)>& say) {
    Checkpoint other = checkpoint;
    say(other.config.model);
    return test::error_of<InternalError>([&] { restore_translator(other); });
  };
  EXPECT_EQ(said([](ModelConfig& model) { model.readout = "minout"; }), "no meaning for minout");
  EXPECT_EQ(said([](ModelConfig& model) { model.initialization = "zero"; }), "no meaning for zero");
}

// What a checkpoint says when its config claims this.
std::string claimed(Checkpoint checkpoint, const std::function<void(ModelConfig&)>& claim) {
  claim(checkpoint.config.model);
  return refusal([&] { restore_translator(checkpoint); });
}

int64_t weights_in(const Checkpoint& checkpoint) {
  int64_t count = 0;
  for (const NamedTensor& entry : checkpoint.weights) {
    count += entry.tensor.numel();
  }
  return count;
}

TEST(HostileRun, AModelLargerThanItsWeightsIsNotMade) {
  const Checkpoint rnn = small_translator({"model.kind=rnnsearch"});
  const std::string start = "[checkpoint] small.safetensors: ";
  const auto needs = [&](const Checkpoint& checkpoint, const std::string& what, int64_t needed) {
    return start + what + " needs at least " + std::to_string(needed) + " weights, " +
           std::to_string(weights_in(checkpoint)) + " are there";
  };
  EXPECT_EQ(claimed(rnn, [](ModelConfig& model) { model.width = 65536; }),
            needs(rnn, "model.layers = 1 of model.width = 65536", int64_t{1} << 32));
  EXPECT_EQ(claimed(rnn, [](ModelConfig& model) { model.layers = 1000; }),
            needs(rnn, "model.layers = 1000 of model.width = 4", 16000));
  EXPECT_EQ(claimed(rnn, [](ModelConfig& model) { model.layers = 60; }),
            start + "model.layers = 60 needs more than the " + std::to_string(rnn.weights.size()) +
                " tensors that are there");
  EXPECT_EQ(claimed(rnn, [](ModelConfig& model) { model.attention_width = 65536; }),
            needs(rnn, "model.attention_width = 65536", 262144));

  // Of a source vocabulary there is no output layer.
  Checkpoint narrow = small_translator({"model.kind=rnnsearch", "model.embedding_width=2"});
  const int64_t many = weights_in(narrow) / 3;
  EXPECT_EQ(refusal([&] { check_enough_weights(narrow, {many, 10}); }), "no error");
  EXPECT_EQ(refusal([&] {
              check_enough_weights(narrow, {10, many});
            }),
            needs(narrow, fmt::format("a vocabulary of {}", many), 4 * many));

  const Checkpoint transformer = small_translator(
      {"model.kind=transformer", "model.heads=2", "model.layers=1", "model.positions=learned"});
  EXPECT_EQ(claimed(transformer, [](ModelConfig& model) { model.ffn_width = 262144; }),
            needs(transformer, "model.ffn_width = 262144", 1048576));
  EXPECT_EQ(claimed(transformer, [](ModelConfig& model) { model.context = 1000000; }),
            needs(transformer, "model.context = 1000000", 4000000));
}

TEST(HostileRun, AVocabularyLargerThanItsWeightsIsNotBelieved) {
  Checkpoint checkpoint = small_translator({"model.kind=rnnencdec"});
  std::string tokens;
  for (int i = 10000; i < 20000; ++i) {
    tokens += "5:" + std::to_string(i);
  }
  checkpoint.text["target.vocabulary"] = tokens;
  EXPECT_EQ(refusal([&] { restore_translator(checkpoint); }),
            "[checkpoint] small.safetensors: a vocabulary of 10004 needs at least 40016 weights, " +
                std::to_string(weights_in(checkpoint)) + " are there");
}

}  // namespace
}  // namespace heed::train
