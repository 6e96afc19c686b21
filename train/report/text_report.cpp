#include "train/report/text_report.h"

#include <fmt/format.h>

#include "train/generation.h"
#include "train/streams.h"

namespace heed::train {

std::vector<PageSection> text_sections(LanguageModel& language_model) {
  constexpr int samples_shown = 3;
  constexpr int64_t sample_tokens = 500;
  Generator generator = generator_of(language_model.config.run.seed, Stream::sampling);
  std::string samples;
  for (int i = 0; i < samples_shown; ++i) {
    samples += fmt::format("<pre>{}</pre>\n",
                           html_escape(sample_text(language_model, sample_tokens, generator)));
  }
  return {{"Samples", samples}};
}

}  // namespace heed::train
