#include "train/task.h"

#include "train/language_model_task.h"
#include "train/translation_task.h"

namespace heed::train {

std::unique_ptr<Task> make_task(const Config& config, const Checkpoint* saved) {
  if (config.data.task == "language_model") {
    return std::make_unique<LanguageModelTask>(config, saved);
  }
  return std::make_unique<TranslationTask>(config, saved);
}

}  // namespace heed::train
