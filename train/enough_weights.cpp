#include "train/enough_weights.h"

#include "core/error.h"

namespace heed::train {

void check_enough_weights(const Checkpoint& checkpoint, const std::vector<int64_t>& vocabularies) {
  const ModelConfig& model = checkpoint.config.model;
  const bool recurrent = is_recurrent(model);
  double held = 0;
  for (const NamedTensor& entry : checkpoint.weights) {
    held += static_cast<double>(entry.tensor.numel());
  }
  const auto require = [&](const std::string& what, int64_t rows, int64_t columns,
                           int64_t times = 1) {
    const double needed =
        static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(times);
    HEED_CHECK_INPUT(needed <= held, "checkpoint",
                     "{}: {} needs at least {:.0f} weights, {:.0f} are there", checkpoint.path,
                     what, needed, held);
  };
  const auto layers = fmt::format("model.layers = {}", model.layers);
  require(layers + fmt::format(" of model.width = {}", model.width), model.width, model.width,
          model.layers);
  HEED_CHECK_INPUT(model.layers <= static_cast<int64_t>(checkpoint.weights.size()), "checkpoint",
                   "{}: {} needs more than the {} tensors that are there", checkpoint.path, layers,
                   checkpoint.weights.size());
  const int64_t embedding = recurrent ? model.embedding_width : model.width;
  for (const int64_t vocabulary : vocabularies) {
    require(fmt::format("a vocabulary of {}", vocabulary), vocabulary, embedding);
  }
  if (recurrent && !model.tie_embeddings) {  // the output layer, from the state
    require(fmt::format("a vocabulary of {}", vocabularies.back()), vocabularies.back(),
            model.width);
  }
  if (recurrent) {
    require(fmt::format("model.embedding_width = {}", embedding), embedding, model.width);
  } else {
    require(fmt::format("model.ffn_width = {}", model.ffn_width), model.ffn_width, model.width,
            model.layers);
  }
  if (model.kind == "rnnsearch") {
    require(fmt::format("model.attention_width = {}", model.attention_width), model.attention_width,
            model.width);
  }
  if (!recurrent && model.positions == "learned") {
    require(fmt::format("model.context = {}", model.context), model.context, model.width);
  }
}

}  // namespace heed::train
