#pragma once

#include <vector>

#include "core/export.h"
#include "train/language_model.h"
#include "train/report/page.h"

namespace heed::train {

// A few texts that the model writes out of nothing.
HEED_EXPORT std::vector<PageSection> text_sections(LanguageModel& language_model);

}  // namespace heed::train
