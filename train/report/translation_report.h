#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "train/report/alignment.h"
#include "train/report/page.h"
#include "train/translator.h"

namespace heed::train {

// The alignment of a translation; nothing when the model does not attend.
HEED_EXPORT std::optional<AlignmentPicture> alignment_picture(const Translator& translator,
                                                              const std::string& source,
                                                              const Translation& translation);

// The same for a given pair: `attention` as forced_attention() gives it.
HEED_EXPORT std::optional<AlignmentPicture> alignment_picture(
    const Translator& translator, const data::SentencePair& pair,
    const std::vector<std::vector<float>>& attention);

// What the weights of an alignment are taken from; empty where a model has one attention.
HEED_EXPORT std::string_view alignment_note(const Translator& translator);

// Translations of a few validation sentences, their alignments, and those of each head. Nothing
// when they came from a pipe.
HEED_EXPORT std::vector<PageSection> translation_sections(Translator& translator);

}  // namespace heed::train
