#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/reliability/small_runs.h"

// New runs that begin with another's checkpoint, and runs that go on from their folder alone.
namespace heed::test {
namespace {

class Branches : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Program(folder_, small_training(folder_, "old",
                                              {"train.steps=4", "data.train=grammar:40:3-6"}))
                  .wait()
                  .code,
              0);
  }
  Outcome train(const Arguments& arguments, const std::vector<std::string>& settings) {
    Arguments all = {"train"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Program(folder_, with_settings(all, settings)).wait();
  }

  TemporaryFolder folder_;
  train::RunFolder old_{folder_ / "old"};
  train::RunFolder branch_{folder_ / "new"};
};

TEST_F(Branches, GoOnUnderAnotherConfig) {
  const std::string before = read_file("test", old_.last_path());
  const Outcome outcome = train({"old", "--branch", "new"},
                                {"train.steps=6", "train.learning_rate=0.5", "data.batch_size=4"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("[run] new branches off from old at step 4:\n"
                             "  data.batch_size was 8, now 4\n"
                             "  train.steps was 4, now 6\n"
                             "  train.learning_rate was 0.001, now 0.5\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_TRUE(read_file("test", old_.last_path()) == before) << "the old run stays as it was";
  const train::Checkpoint end = branch_.load_latest();
  EXPECT_EQ(end.state.step, 6);
  EXPECT_EQ(end.state.optimizer_steps, 6);
  EXPECT_EQ(end.state.steps_an_epoch, 10);
  EXPECT_EQ(end.config.train.learning_rate, 0.5);
  EXPECT_EQ(timeless_metrics(branch_).front(), timeless_metrics(old_).front());
  EXPECT_NE(read_file("test", branch_.log_path()).find("[run] new branches off from old"),
            std::string::npos);
  // It is a run like any other.
  EXPECT_EQ(train({"new"}, {"train.steps=7"}).code, 0);
  EXPECT_EQ(branch_.load_latest().state.step, 7);
}

// Without a change it is the same training, in two folders.
TEST_F(Branches, WithoutAChangeComeToTheSameEnd) {
  ASSERT_EQ(train({"old", "--branch", "new"}, {"train.steps=8"}).code, 0);
  ASSERT_EQ(train({"old"}, {"train.steps=8"}).code, 0);
  train::Checkpoint end = branch_.load_latest();
  EXPECT_EQ(end.state.branch_of, std::filesystem::canonical(old_.path()));
  end.state.branch_of.clear();
  EXPECT_TRUE(encode_checkpoint(old_.load_latest()) == encode_checkpoint(end));
  EXPECT_EQ(timeless_metrics(old_), timeless_metrics(branch_));
}

// As after a kill: what the first command made is not thrown away.
TEST_F(Branches, GoOnByTheCommandThatMadeThem) {
  ASSERT_EQ(train({"old", "--branch", "new"}, {"train.clip_norm=2", "train.steps=6"}).code, 0);
  const Outcome again = train({"old", "--branch", "new"}, {"train.clip_norm=2", "train.steps=8"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("[run] new goes on from step 6\n"), std::string::npos) << again.err;
  EXPECT_EQ(branch_.load_latest().state.step, 8);
}

TEST_F(Branches, LeaveOtherRunsAlone) {
  ASSERT_EQ(train({"old", "--branch", "new"}, {"train.steps=6"}).code, 0);
  ASSERT_EQ(train({"old", "--branch", "other"}, {"train.steps=6"}).code, 0);
  const Outcome unrelated = train({"other", "--branch", "new"}, {"train.steps=8"});
  EXPECT_EQ(unrelated.code, 2);
  EXPECT_EQ(unrelated.err,
            "[run] new is a run already, and no branch of other: name a new folder, or go on with "
            "it (heed train new)\n");
  EXPECT_EQ(branch_.load_latest().state.step, 6);
  const Outcome otherwise =
      train({"old", "--branch", "new"}, {"train.clip_norm=2", "train.steps=8"});
  EXPECT_EQ(otherwise.code, 2);
  EXPECT_EQ(otherwise.err,
            "[run] new was begun with another config; go on as it was (heed train new), or name "
            "another folder with --branch:\n  train.clip_norm was 1.0, now 2.0\n");
  const Outcome itself = train({"old", "--branch", "old"}, {"train.steps=8"});
  EXPECT_EQ(itself.code, 2);
  EXPECT_EQ(itself.err, "[run] old cannot be a branch of itself: name a new folder\n");
}

TEST_F(Branches, WithAnotherOptimizerBeginItsState) {
  ASSERT_EQ(train({"old", "--branch", "new"},
                  {"train.steps=6", "train.optimizer=sgd", "train.learning_rate=0.1"})
                .code,
            0);
  EXPECT_EQ(branch_.load_latest().state.optimizer_steps, 2);
}

TEST_F(Branches, RefuseWhatTheWeightsAreNotMadeFor) {
  const Outcome fixed =
      train({"old", "--branch", "new"},
            {"run.seed=2", "model.width=9", "data.lowercase=true", "train.clip_norm=2"});
  EXPECT_EQ(fixed.code, 2);
  EXPECT_EQ(without_machine(fixed.err),
            "[run] a branch of old has its weights and vocabulary; take back what they are not "
            "made for:\n"
            "  run.seed was 1, now 2\n"
            "  data.lowercase was false, now true\n"
            "  model.width was 8, now 9\n");
  EXPECT_FALSE(std::filesystem::exists(branch_.path()));
  const Outcome file = train({"small.toml", "--branch", "new"}, {});
  EXPECT_EQ(file.code, 2);
  EXPECT_EQ(file.err, "[heed] --branch goes off from a run folder, small.toml is none\n");
}

TEST_F(Branches, AreTheWayOutOfARefusedChange) {
  const Outcome refused = train({"old"}, {"train.clip_norm=2"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(
      refused.err,
      "[run] old was begun with another config; go on as it was (heed train old), train anew in "
      "another folder (--run), or make a new run from it (heed train old --branch NEW_RUN):\n"
      "  train.clip_norm was 1.0, now 2.0\n");
}

TEST_F(Branches, ARunGoesOnFromItsCheckpointsAlone) {
  for (const std::string& file : {old_.config_path(), old_.metrics_path(), old_.log_path()}) {
    std::filesystem::remove(file);
  }
  const Outcome outcome = train({"old"}, {"train.steps=5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(old_.load_latest().state.step, 5);
}

TEST_F(Branches, ASearchForInfinitiesIsForOnce) {
  const std::string before = read_file("test", old_.config_path());
  const Outcome outcome = train({"old", "--check-finite"}, {});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_file("test", old_.config_path()), before);
}

// A name is a folder's name, whatever it holds.
TEST_F(Branches, ARunNameStaysInItsFolder) {
  for (const char* name : {"../out", "a/b", "..", "."}) {
    const Outcome outcome =
        Program(folder_, {"train", "small.toml", "--set", std::string("run.name=") + name}).wait();
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, "[config] run.name is \"" + std::string(name) +
                               "\", a folder name without '/' or NUL is expected: --set run.name=" +
                               name + "\n");
  }
  write_file("test", folder_ / "nul.toml", "[run]\nname = \"a\\u0000b\"\n");
  const Outcome outcome = train({"nul.toml"}, {});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "[config] run.name is \"a\\u0000b\", a folder name without '/' or NUL is expected: "
            "nul.toml:2\n");
}

}  // namespace
}  // namespace heed::test
