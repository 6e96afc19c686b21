#include "nn/models/translation_model.h"

#include <functional>
#include <memory>
#include <utility>

#include "autograd/functions.h"
#include "tests/nn/models/tiny_models.h"
#include "tests/nn/support.h"

// What every translator has to keep, whatever it is made of.
namespace heed::nn::test {
namespace {

struct ModelCase {
  std::string name;
  bool attends;
  std::function<std::unique_ptr<TranslationModel>()> make;
};

std::vector<ModelCase> model_cases() {
  std::vector<ModelCase> cases;
  for (const auto& [name, options] : rnn_translators()) {
    cases.push_back({name, options.attention, [options = options] {
                       Generator generator(1);
                       return std::make_unique<RnnTranslator>(options, generator);
                     }});
  }
  for (const auto& [name, options] : transformers()) {
    cases.push_back({name, true, [options = options] {
                       Generator generator(1);
                       return std::make_unique<Transformer>(options, generator);
                     }});
  }
  return cases;
}

class TranslationModelTest : public testing::TestWithParam<ModelCase> {
 protected:
  TranslationModelTest() {
    model_->convert(DType::f64);
    randomize(*model_, 0.7);
  }

  Tensor logits(const PaddedIds& sentences, const Tensor& input) const {
    return model_->forward(sentences, input, false).logits;
  }
  // The loss that training minimises, padding left out.
  Tensor loss() const {
    return cross_entropy(logits(source, target_input), targets, {0.1, 0}).loss;
  }

  std::unique_ptr<TranslationModel> model_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(All, TranslationModelTest, testing::ValuesIn(model_cases()),
                         [](const auto& given) { return given.param.name; });

TEST_P(TranslationModelTest, ForwardEqualsItsSteps) {
  const auto whole = model_->forward(source, target_input, true);
  EXPECT_EQ(whole.logits.shape(), Shape({3, 3, model_->target_vocabulary()}));
  const auto state = model_->start(source);
  for (int64_t t = 0; t < 3; ++t) {
    const Tensor tokens = contiguous(squeeze(slice(target_input, 1, t, t + 1), 1));
    const auto step = model_->step(*state, tokens, true);
    expect_close(step.logits, squeeze(slice(whole.logits, 1, t, t + 1), 1), 1e-12);
    ASSERT_EQ(step.attention.defined(), GetParam().attends);
    if (GetParam().attends) {
      expect_close(step.attention, squeeze(slice(whole.attention, 1, t, t + 1), 1), 1e-12);
    }
  }
}

TEST_P(TranslationModelTest, StepsRecordNothingAndAttendSilentlyUnlessAsked) {
  const auto state = model_->start(source);
  const auto step = model_->step(*state, Tensor::from_vector<int32_t>({2, 2, 2}, {3}), false);
  EXPECT_FALSE(requires_grad(step.logits));
  EXPECT_FALSE(step.attention.defined());
  expect_close(step.logits, squeeze(slice(logits(source, target_input), 1, 0, 1), 1), 1e-12);
}

TEST_P(TranslationModelTest, AttentionIsADistributionOverEachSentence) {
  EXPECT_FALSE(model_->forward(source, target_input, false).attention.defined());
  const Tensor attention = model_->forward(source, target_input, true).attention;
  ASSERT_EQ(attention.defined(), GetParam().attends);
  if (!GetParam().attends) {
    return;
  }
  EXPECT_EQ(attention.shape(), Shape({3, 3, 4}));
  const auto rows = rows_of(attention);
  for (size_t i = 0; i < rows.size(); ++i) {
    double total = 0;
    for (size_t s = 0; s < 4; ++s) {
      total += rows[i][s];
      if (static_cast<int64_t>(s) >= source.lengths[i / 3]) {
        EXPECT_EQ(rows[i][s], 0);
      }
    }
    EXPECT_NEAR(total, 1, 1e-12);
  }
}

TEST_P(TranslationModelTest, APaddedBatchGivesWhatEachSentenceGivesAlone) {
  const Tensor together = logits(source, target_input);
  for (int64_t b = 0; b < 3; ++b) {
    const int64_t length = source.lengths[static_cast<size_t>(b)];
    const Tensor ids = contiguous(slice(slice(source.ids, 0, b, b + 1), 1, 0, length));
    const Tensor input = contiguous(slice(target_input, 0, b, b + 1));
    expect_close(slice(together, 0, b, b + 1), logits({ids, {length}}, input), 1e-12);
  }
}

TEST_P(TranslationModelTest, WhatStandsAtSourcePaddingDoesNotMatter) {
  const PaddedIds other = {
      Tensor::from_vector<int32_t>({4, 5, 6, 3, 4, 6, 1, 2, 6, 3, 3, 5}, {3, 4}), {4, 1, 3}};
  EXPECT_EQ(logits(other, target_input).to_doubles(), logits(source, target_input).to_doubles());
}

TEST_P(TranslationModelTest, LaterTargetWordsReachNothingBefore) {
  model_->convert(DType::f32);
  const Tensor other = Tensor::from_vector<int32_t>({2, 4, 1, 2, 5, 4, 2, 0, 5}, {3, 3});
  const Tensor expected = logits(source, target_input);
  const Tensor found = logits(source, other);
  EXPECT_EQ(slice(found, 1, 0, 2).to_doubles(), slice(expected, 1, 0, 2).to_doubles());
  EXPECT_NE(slice(found, 1, 2, 3).to_doubles(), slice(expected, 1, 2, 3).to_doubles());
}

TEST_P(TranslationModelTest, SelectedRowsContinueAsTheyWere) {
  const auto state = model_->start(source);
  const auto picked = model_->start(source);
  const Tensor first = Tensor::from_vector<int32_t>({2, 2, 2}, {3});
  model_->step(*state, first, true);
  model_->step(*picked, first, true);
  const std::vector<int32_t> rows = {2, 0, 0, 1};
  picked->select(rows);
  const auto all = model_->step(*state, Tensor::from_vector<int32_t>({4, 5, 3}, {3}), true);
  const auto found = model_->step(*picked, Tensor::from_vector<int32_t>({3, 4, 4, 5}, {4}), true);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    expect_close(rows_of(found.logits)[i], rows_of(all.logits)[row], 1e-12);
    if (GetParam().attends) {
      expect_close(rows_of(found.attention)[i], rows_of(all.attention)[row], 1e-12);
    }
  }
  // Rows that only change places within a sentence.
  picked->select({0, 2, 1, 3});
  const auto swapped = model_->step(*picked, Tensor::from_vector<int32_t>({4, 4, 4, 4}, {4}), true);
  const auto next = model_->step(*state, Tensor::from_vector<int32_t>({4, 4, 4}, {3}), true);
  for (size_t i = 0; i < rows.size(); ++i) {
    expect_close(rows_of(swapped.logits)[i], rows_of(next.logits)[static_cast<size_t>(rows[i])],
                 1e-12);
  }
}

TEST_P(TranslationModelTest, PassesGradcheckAsAWhole) {
  GradcheckOptions options;
  options.most_elements = 50;  // larger matrices along random directions
  const auto check = [&] {
    const auto result = gradcheck_module(
        *model_, [&](const std::vector<Tensor>&) { return loss(); }, {}, options);
    EXPECT_THAT(result, PassesGradcheck());
    EXPECT_GT(result.checked, 200);
  };
  check();
  const ComposedScope composed;
  check();
}

TEST_P(TranslationModelTest, FusedEqualsComposed) {
  const auto run = [&] {
    model_->clear_gradients();
    const Tensor value = loss();
    backward(value);
    auto found = gradients_of(*model_);
    found["loss"] = value.to_doubles();
    return found;
  };
  for (const auto& [dtype, tolerance] : {std::pair{DType::f32, 5e-5}, {DType::f64, 1e-12}}) {
    model_->convert(dtype);
    const auto fused = run();
    const ComposedScope composed;
    expect_close(fused, run(), tolerance);
  }
}

}  // namespace
}  // namespace heed::nn::test
