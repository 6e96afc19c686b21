#pragma once

#include <cstdint>
#include <memory>

#include "nn/models/causal_lm.h"
#include "nn/models/rnn_translator.h"
#include "train/bench/workload.h"

namespace heed::train {

// The models that the presets name.
nn::CausalLmOptions gpt_small();
inline constexpr int64_t gpt_small_batch = 12;
nn::CausalLmOptions gpt_medium();
nn::RnnTranslatorOptions bench_rnnsearch();

// A training step of a causal language model on `batch` windows as long as its context.
std::unique_ptr<Workload> train_causal_lm(const nn::CausalLmOptions& options, int64_t batch);

// One training step of each.
std::unique_ptr<Workload> train_gpt_small();
std::unique_ptr<Workload> train_gpt_medium();
std::unique_ptr<Workload> train_rnnsearch();
std::unique_ptr<Workload> train_transformer();

}  // namespace heed::train
