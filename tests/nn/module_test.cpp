#include "nn/module.h"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "nn/layers.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

struct Block : Module {
  explicit Block(Generator& generator) : up(2, 3, generator), down(3, 2, generator) {
    register_module("up", up);
    register_module("down", down);
    scale = register_parameter("scale", Tensor::full({2}, 1.0));
  }
  Linear up;
  Linear down;
  Tensor scale;
};

// The projection's weight is the embedding's.
struct Net : Module {
  explicit Net(Generator& generator)
      : embedding(4, 2, generator), projection(2, 4, generator), block(generator) {
    register_module("embedding", embedding);
    register_module("block", block);
    register_module("projection", projection);
    projection.share_weight(embedding.weight);
  }
  Embedding embedding;
  Linear projection;
  Block block;
};

class ModuleTest : public testing::Test {
 protected:
  std::map<std::string, Values> values() const {
    std::map<std::string, Values> all;
    for (const NamedTensor& entry : net_.named_parameters()) {
      all[entry.name] = entry.tensor.to_doubles();
    }
    return all;
  }

  Generator generator_{3};
  Net net_{generator_};
};

TEST_F(ModuleTest, NamesAreDottedAndInTheOrderOfRegistration) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : net_.named_parameters()) {
    names.push_back(entry.name);
    EXPECT_TRUE(requires_grad(entry.tensor)) << entry.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"embedding.weight", "block.scale", "block.up.weight",
                                             "block.up.bias", "block.down.weight",
                                             "block.down.bias", "projection.bias"}));
}

TEST_F(ModuleTest, SharedParametersAreListedAndCountedOnce) {
  EXPECT_EQ(net_.aliases(),
            (std::map<std::string, std::string>{{"projection.weight", "embedding.weight"}}));
  EXPECT_EQ(net_.parameter_count(), 8 + 2 + 6 + 3 + 6 + 2 + 4);
  EXPECT_TRUE(net_.block.aliases().empty());
}

TEST_F(ModuleTest, DescribesItselfAsATree) {
  EXPECT_EQ(net_.describe(),
            "embedding: 8 parameters\n"
            "  weight (4, 2)\n"
            "block: 19 parameters\n"
            "  scale (2)\n"
            "  up: 9 parameters\n"
            "    weight (3, 2)\n"
            "    bias (3)\n"
            "  down: 8 parameters\n"
            "    weight (2, 3)\n"
            "    bias (2)\n"
            "projection: 12 parameters\n"
            "  weight (4, 2)\n"
            "  bias (4)\n"
            "projection.weight is embedding.weight\n"
            "31 parameters\n");
}

TEST(Module, AChildWithoutNameLendsItsNames) {
  struct Outer : Module {
    explicit Outer(Generator& generator) : block(generator), head(2, 1, generator), dropout(0.5) {
      register_module("", block);
      register_module("head", head);
      register_module("dropout", dropout);
    }
    Block block;
    Linear head;
    Dropout dropout;
  };
  Generator generator(1);
  const Outer outer(generator);
  EXPECT_EQ(outer.named_parameters()[1].name, "up.weight");
  // What has no parameters is not described.
  EXPECT_EQ(outer.describe(),
            "scale (2)\n"
            "up: 9 parameters\n"
            "  weight (3, 2)\n"
            "  bias (3)\n"
            "down: 8 parameters\n"
            "  weight (2, 3)\n"
            "  bias (2)\n"
            "head: 3 parameters\n"
            "  weight (1, 2)\n"
            "  bias (1)\n"
            "22 parameters\n");
}

TEST_F(ModuleTest, LoadsByNameAndKeepsItsOwnStorageAndDtype) {
  Net other(generator_);
  std::vector<NamedTensor> given = other.named_parameters();
  const Values weight = {1, 2, 3, 4, 5, 6, 7, 8};
  given[0].tensor = Tensor::from_vector(weight, {4, 2});  // f64
  given.push_back({"projection.weight", Tensor::zeros({9})});
  net_.load_parameters(given, "test.safetensors");
  for (const NamedTensor& entry : given) {
    if (entry.name != "projection.weight") {
      EXPECT_EQ(values()[entry.name], entry.tensor.to_doubles()) << entry.name;
    }
  }
  EXPECT_EQ(net_.embedding.weight.dtype(), DType::f32);
  EXPECT_EQ(net_.projection.weight.to_doubles(), weight) << "the alias follows its first name";
  EXPECT_FALSE(net_.block.scale.shares_storage(other.block.scale));
  EXPECT_TRUE(requires_grad(net_.embedding.weight));
}

TEST_F(ModuleTest, LoadingReportsEverythingWrongAndChangesNothing) {
  const auto before = values();
  std::vector<NamedTensor> given = {
      {"embedding.weight", Tensor::zeros({4, 2})},
      {"block.scale", Tensor::zeros({3})},
      {"block.up.bias", Tensor::zeros({3}, DType::i32)},
      {"block.down.weight", Tensor::zeros({2, 3})},
      {"block.up.weights", Tensor::zeros({3, 2})},
      {"projection.bias", Tensor::zeros({4, 1})},
      {"extra", Tensor::zeros({})},
  };
  const auto load = [&] { net_.load_parameters(given, "runs/a/model.safetensors"); };
  EXPECT_THROW(load(), InputError);
  EXPECT_EQ(error_of(load),
            "[weights] runs/a/model.safetensors does not fit this model:\n"
            "  mis-shaped  block.scale is (3), (2) is expected\n"
            "  missing     block.up.weight (3, 2)\n"
            "  mis-typed   block.up.bias is i32, f32 is expected\n"
            "  missing     block.down.bias (2)\n"
            "  mis-shaped  projection.bias is (4, 1), (4) is expected\n"
            "  unexpected  block.up.weights (3, 2)\n"
            "  unexpected  extra ()");
  EXPECT_EQ(values(), before);
}

TEST_F(ModuleTest, LoadingTakesTheShapeThatWasCheckedWhenANameComesTwice) {
  std::vector<NamedTensor> given = Net(generator_).named_parameters();
  given.insert(given.begin(), {"block.scale", Tensor::zeros({7})});
  net_.load_parameters(given, "test.safetensors");
  EXPECT_EQ(net_.block.scale.to_doubles(), Values(2, 1.0));
}

TEST_F(ModuleTest, ConvertsEveryHandleAndDropsGradients) {
  const auto before = values();
  backward(sum(net_.block.up.forward(Tensor::full({1, 2}, 1.0))));
  ASSERT_TRUE(gradient(net_.block.up.bias).defined());
  net_.convert(DType::f64);
  EXPECT_EQ(values(), before);
  for (const NamedTensor& entry : net_.named_parameters()) {
    EXPECT_EQ(entry.tensor.dtype(), DType::f64) << entry.name;
    EXPECT_FALSE(gradient(entry.tensor).defined()) << entry.name;
    EXPECT_TRUE(requires_grad(entry.tensor)) << entry.name;
  }
  EXPECT_EQ(net_.block.up.weight.dtype(), DType::f64);
  EXPECT_TRUE(net_.projection.weight.same(net_.embedding.weight));
  const Tensor y = net_.block.up.forward(Tensor::full({1, 2}, 1.0, DType::f64));
  EXPECT_EQ(y.dtype(), DType::f64);
}

TEST_F(ModuleTest, ClearsEveryGradient) {
  backward(sum(net_.block.up.forward(Tensor::full({1, 2}, 1.0))));
  ASSERT_TRUE(gradient(net_.block.up.weight).defined());
  net_.clear_gradients();
  for (const NamedTensor& entry : net_.named_parameters()) {
    EXPECT_FALSE(gradient(entry.tensor).defined()) << entry.name;
  }
}

TEST_F(ModuleTest, EvaluationReachesEveryPartAndEndsWithItsScope) {
  ASSERT_TRUE(net_.training());
  {
    const EvaluationScope outer(net_);
    EXPECT_FALSE(net_.training());
    EXPECT_FALSE(net_.block.down.training());
    EXPECT_FALSE(recording());
    { const EvaluationScope inner(net_); }
    EXPECT_FALSE(net_.training()) << "an inner scope restores the mode it found";
    EXPECT_FALSE(recording());
  }
  EXPECT_TRUE(net_.training());
  EXPECT_TRUE(net_.block.down.training());
  EXPECT_TRUE(recording());
}

TEST_F(ModuleTest, EvaluationLeavesEachPartInTheModeItHad) {
  const EvaluationScope part(net_.block);
  { const EvaluationScope all(net_); }
  EXPECT_TRUE(net_.training());
  EXPECT_FALSE(net_.block.training());
  EXPECT_FALSE(net_.block.down.training());
}

TEST_F(ModuleTest, EvaluationEndsWhenAnExceptionPasses) {
  EXPECT_THROW(
      {
        const EvaluationScope evaluation(net_);
        throw std::runtime_error("stop");
      },
      std::runtime_error);
  EXPECT_TRUE(net_.training());
  EXPECT_TRUE(net_.block.down.training());
  EXPECT_TRUE(recording());
}

}  // namespace
}  // namespace heed::nn::test
