#include "data/corpus.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/logging.h"
#include "data/generators.h"
#include "data/text_corpus.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

bool blank(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!is_space(point.value)) {
      return false;
    }
    text.remove_prefix(point.bytes);
  }
  return true;
}

PairCorpus from_tsv(const std::string& path, const CorpusOptions& options) {
  const TextFile file = read_text_file(path, options.invalid_utf8);
  PairCorpus corpus;
  corpus.name = path;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      HEED_CHECK_INPUT(line.empty() && options.drop_empty, "data",
                       "{}:{}: there is no TAB; a line is source TAB target", path, i + 1);
      ++corpus.empty_dropped;
      continue;
    }
    const size_t second = line.find('\t', tab + 1);
    corpus.extra_columns += second != std::string::npos ? 1 : 0;
    corpus.pairs.push_back(
        {line.substr(0, tab),
         line.substr(tab + 1, second == std::string::npos ? second : second - tab - 1)});
  }
  if (corpus.extra_columns > 0) {
    log::info("data", "{}: {} lines have more than two columns; the others were ignored", path,
              corpus.extra_columns);
  }
  return corpus;
}

// Where two files that should run parallel stop doing so: the line after which the longer text
// runs ahead. Lengths of translations go together, so the split that makes the ratio of lengths
// most even on both sides, allowing for the surplus lines, is the likeliest place.
size_t likely_drift(const std::vector<std::string>& source,
                    const std::vector<std::string>& target) {
  const size_t common = std::min(source.size(), target.size());
  const auto surplus = static_cast<std::ptrdiff_t>(std::max(source.size(), target.size()) - common);
  const bool source_longer = source.size() > target.size();
  const auto mismatch = [](const std::string& a, const std::string& b) {
    return std::abs(
        std::log((1.0 + static_cast<double>(a.size())) / (1.0 + static_cast<double>(b.size()))));
  };
  // cost(k): lines before k match directly, those from k on with the longer file shifted.
  double cost = 0;
  for (size_t i = 0; i < common; ++i) {
    const size_t shifted = i + static_cast<size_t>(surplus);
    cost +=
        source_longer ? mismatch(source[shifted], target[i]) : mismatch(source[i], target[shifted]);
  }
  double best = cost;
  size_t where = 0;
  for (size_t i = 0; i < common; ++i) {
    const size_t shifted = i + static_cast<size_t>(surplus);
    cost += mismatch(source[i], target[i]) - (source_longer ? mismatch(source[shifted], target[i])
                                                            : mismatch(source[i], target[shifted]));
    if (cost < best) {
      best = cost;
      where = i + 1;
    }
  }
  return where + 1;
}

PairCorpus from_files(const std::string& source_path, const std::string& target_path,
                      const CorpusOptions& options) {
  TextFile source = read_text_file(source_path, options.invalid_utf8);
  TextFile target = read_text_file(target_path, options.invalid_utf8);
  HEED_CHECK_INPUT(source.lines.size() == target.lines.size(), "data",
                   "{} has {} lines, {} has {}; by their lengths they seem to drift apart at "
                   "line {}",
                   source_path, source.lines.size(), target_path, target.lines.size(),
                   likely_drift(source.lines, target.lines));
  PairCorpus corpus;
  corpus.name = source_path + " + " + target_path;
  for (size_t i = 0; i < source.lines.size(); ++i) {
    corpus.pairs.push_back({std::move(source.lines[i]), std::move(target.lines[i])});
  }
  return corpus;
}

void drop_empty(PairCorpus& corpus, bool allowed) {
  std::vector<SentencePair> kept;
  for (size_t i = 0; i < corpus.pairs.size(); ++i) {
    SentencePair& pair = corpus.pairs[i];
    if (!blank(pair.source) && !blank(pair.target)) {
      kept.push_back(std::move(pair));
      continue;
    }
    HEED_CHECK_INPUT(allowed, "data",
                     "{}: the {} of pair {} is empty; set data.empty = \"drop\" to leave such out",
                     corpus.name, blank(pair.source) ? "source" : "target", i + 1);
    ++corpus.empty_dropped;
  }
  corpus.pairs = std::move(kept);
}

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

// "name:count" or "name:count:least-most".
GeneratorRequest parse_request(const std::string& name) {
  const auto fail = [&]() -> InputError {
    return InputError("data", fmt::format("'{}' is no corpus; a generator is NAME:COUNT or "
                                          "NAME:COUNT:LEAST-MOST, as in grammar:20000:3-15",
                                          name));
  };
  std::string_view rest = name;
  rest.remove_prefix(rest.find(':') + 1);
  const size_t colon = rest.find(':');
  GeneratorRequest request;
  if (!parse_number(rest.substr(0, colon), request.count) || request.count <= 0) {
    throw fail();
  }
  if (colon != std::string_view::npos) {
    const std::string_view lengths = rest.substr(colon + 1);
    const size_t dash = lengths.find('-');
    int least = 0;
    int most = 0;
    if (dash == std::string_view::npos || !parse_number(lengths.substr(0, dash), least) ||
        !parse_number(lengths.substr(dash + 1), most) || least < 1 || least > most) {
      throw fail();
    }
    request.lengths = {least, most};
  }
  return request;
}

// "gramar:2000" is no path that anybody has.
void check_is_no_misspelt_generator(const std::vector<std::string>& name) {
  const size_t colon = name[0].find(':');
  const bool like_one = name.size() == 1 && colon != std::string::npos &&
                        colon + 1 < name[0].size() &&
                        name[0].find_first_not_of("0123456789:-", colon) == std::string::npos &&
                        name[0].find_first_of("/.") == std::string::npos;
  HEED_CHECK_INPUT(!like_one, "data", "there is no generator '{}'; {} are built in",
                   name[0].substr(0, colon), generator_names());
}

}  // namespace

bool is_generator(const std::string& name) {
  const size_t colon = name.find(':');
  return colon != std::string::npos && find_generator(name.substr(0, colon)) != nullptr;
}

PairCorpus load_pair_corpus(const std::vector<std::string>& name, Split split,
                            const CorpusOptions& options) {
  HEED_CHECK_INPUT(name.size() == 1 || name.size() == 2, "data",
                   "a corpus is one path, two paths or a generator; {} were given", name.size());
  PairCorpus corpus;
  if (name.size() == 1 && is_generator(name[0])) {
    GeneratorRequest request = parse_request(name[0]);
    request.split = split;
    request.seed = options.seed;
    corpus = (*find_generator(name[0].substr(0, name[0].find(':'))))(request);
    corpus.name = name[0];
  } else {
    HEED_CHECK_INPUT(name != std::vector<std::string>{std::string(own_sources)}, "data",
                     "{} is a running text, pairs of sentences are expected", own_sources);
    check_is_no_misspelt_generator(name);
    corpus = name.size() == 1 ? from_tsv(name[0], options) : from_files(name[0], name[1], options);
    drop_empty(corpus, options.drop_empty);
  }
  HEED_CHECK_INPUT(!corpus.pairs.empty(), "data", "{} holds no pair with text on both sides",
                   corpus.name);
  return corpus;
}

}  // namespace heed::data
