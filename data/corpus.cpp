#include "data/corpus.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/input_file.h"
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

// The pair of a line of a TSV file.
PairView split_columns(std::string_view line, size_t tab) {
  const size_t second = line.find('\t', tab + 1);
  const bool further = second != std::string_view::npos;
  return {line.substr(0, tab), line.substr(tab + 1, further ? second - tab - 1 : second), nullptr,
          further};
}

class TsvFile final : public PairSource {
 public:
  TsvFile(const std::string& path, const CorpusOptions& options)
      : file_(std::make_shared<InputFile>("data", path)), options_(options) {}

  void scan(Pass pass, const std::function<bool(const PairView&)>& visit) const override {
    TextReader reader(file_, options_.invalid_utf8);
    while (const auto line = reader.next()) {
      const size_t tab = line->find('\t');
      const bool nothing = line->empty() && options_.drop_empty;
      HEED_CHECK_INPUT(tab != std::string_view::npos || nothing, "data",
                       "{}:{}: there is no TAB; a line is source TAB target", reader.name(),
                       reader.lines());
      if (!visit(nothing ? PairView{} : split_columns(*line, tab))) {
        return;
      }
    }
    if (pass == Pass::first) {
      reader.log_repairs();
    }
  }

 private:
  std::shared_ptr<const InputFile> file_;
  CorpusOptions options_;
};

// Where two files that should run parallel stop doing so, from the lengths of their lines: the line
// after which the longer text runs ahead. Lengths of translations go together, so the split that
// makes the ratio of lengths most even on both sides, allowing for the surplus lines, is the
// likeliest place.
size_t likely_drift(const std::vector<uint32_t>& source, const std::vector<uint32_t>& target) {
  const size_t common = std::min(source.size(), target.size());
  const size_t surplus = std::max(source.size(), target.size()) - common;
  const bool source_longer = source.size() > target.size();
  const auto mismatch = [](uint32_t a, uint32_t b) {
    return std::abs(std::log((1.0 + a) / (1.0 + b)));
  };
  // cost(k): lines before k match directly, those from k on with the longer file shifted.
  const auto shifted = [&](size_t i) {
    return source_longer ? mismatch(source[i + surplus], target[i])
                         : mismatch(source[i], target[i + surplus]);
  };
  double cost = 0;
  for (size_t i = 0; i < common; ++i) {
    cost += shifted(i);
  }
  double best = cost;
  size_t where = 0;
  for (size_t i = 0; i < common; ++i) {
    cost += mismatch(source[i], target[i]) - shifted(i);
    if (cost < best) {
      best = cost;
      where = i + 1;
    }
  }
  return where + 1;
}

class ParallelFiles final : public PairSource {
 public:
  ParallelFiles(const std::string& source, const std::string& target, InvalidUtf8 policy)
      : source_(std::make_shared<InputFile>("data", source)),
        target_(std::make_shared<InputFile>("data", target)),
        policy_(policy) {}

  void scan(Pass pass, const std::function<bool(const PairView&)>& visit) const override {
    TextReader source(source_, policy_);
    TextReader target(target_, policy_);
    auto a = source.next();
    auto b = target.next();
    for (; a && b && visit({*a, *b}); a = source.next(), b = target.next()) {
    }
    if (pass == Pass::later) {
      return;
    }
    while (a) {
      a = source.next();
    }
    while (b) {
      b = target.next();
    }
    source.log_repairs();
    target.log_repairs();
    if (source.lines() != target.lines()) {
      throw InputError(
          "data", fmt::format("{} has {} lines, {} has {}; by their lengths they seem to drift "
                              "apart at line {}",
                              source.name(), source.lines(), target.name(), target.lines(),
                              likely_drift(line_lengths(source_), line_lengths(target_))));
    }
  }

 private:
  std::vector<uint32_t> line_lengths(const std::shared_ptr<const InputFile>& file) const {
    TextReader reader(file, policy_);
    std::vector<uint32_t> lengths;
    while (const auto line = reader.next()) {
      lengths.push_back(static_cast<uint32_t>(line->size()));
    }
    return lengths;
  }

  std::shared_ptr<const InputFile> source_;
  std::shared_ptr<const InputFile> target_;
  InvalidUtf8 policy_;
};

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
void check_is_no_misspelt_generator(const std::string& name) {
  const size_t colon = name.find(':');
  const bool like_one = colon != std::string::npos && colon + 1 < name.size() &&
                        name.find_first_not_of("0123456789:-", colon) == std::string::npos &&
                        name.find_first_of("/.") == std::string::npos;
  HEED_CHECK_INPUT(!like_one, "data", "there is no generator '{}'; {} are built in",
                   name.substr(0, colon), generator_names());
}

}  // namespace

bool is_generator(const std::string& name) {
  const size_t colon = name.find(':');
  return colon != std::string::npos && find_generator(name.substr(0, colon)) != nullptr;
}

bool can_be_opened_again(const std::vector<std::string>& name) {
  return std::all_of(name.begin(), name.end(), [](const std::string& part) {
    std::error_code unknown;  // opening it will say more
    const auto status = std::filesystem::status(part, unknown);
    return is_generator(part) || !std::filesystem::exists(status) ||
           std::filesystem::is_regular_file(status);
  });
}

PairCorpus::PairCorpus(std::string name, std::shared_ptr<const PairSource> source, bool drop_empty)
    : name_(std::move(name)), source_(std::move(source)) {
  int64_t extra_columns = 0;  // lines with more than two
  int64_t first_empty = 0;    // pairs count from 1
  const char* empty_side = nullptr;
  source_->scan(PairSource::Pass::first, [&](const PairView& pair) {
    extra_columns += pair.further_columns ? 1 : 0;
    const bool no_source = blank(pair.source);
    if (!no_source && !blank(pair.target)) {
      ++size_;
      source_bytes_ += static_cast<int64_t>(pair.source.size());
      target_bytes_ += static_cast<int64_t>(pair.target.size());
      return true;
    }
    if (++empty_dropped_ == 1) {
      first_empty = size_ + 1;
      empty_side = no_source ? "source" : "target";
    }
    return true;
  });
  if (extra_columns > 0) {
    log::info("data", "{}: {} lines have more than two columns; the others were ignored", name_,
              extra_columns);
  }
  HEED_CHECK_INPUT(drop_empty || empty_dropped_ == 0, "data",
                   "{}: the {} of pair {} is empty; set data.empty = \"drop\" to leave such out",
                   name_, empty_side, first_empty);
  HEED_CHECK_INPUT(size_ > 0, "data", "{} holds no pair with text on both sides", name_);
}

void PairCorpus::scan(const std::function<bool(const PairView&)>& visit) const {
  source_->scan(PairSource::Pass::later, [&](const PairView& pair) {
    return blank(pair.source) || blank(pair.target) || visit(pair);
  });
}

void PairCorpus::for_each(const std::function<void(const PairView&)>& visit) const {
  scan([&](const PairView& pair) {
    visit(pair);
    return true;
  });
}

std::vector<SentencePair> PairCorpus::first(size_t count) const {
  std::vector<SentencePair> pairs;
  scan([&](const PairView& pair) {
    if (pairs.size() < count) {
      pairs.push_back({std::string(pair.source), std::string(pair.target)});
    }
    return pairs.size() < count;
  });
  return pairs;
}

PairCorpus load_pair_corpus(const std::vector<std::string>& name, Split split,
                            const CorpusOptions& options) {
  HEED_CHECK_INPUT(name.size() == 1 || name.size() == 2, "data",
                   "a corpus is one path, two paths or a generator; {} were given", name.size());
  if (name.size() == 2) {
    return {name[0] + " + " + name[1],
            std::make_shared<ParallelFiles>(name[0], name[1], options.invalid_utf8),
            options.drop_empty};
  }
  if (is_generator(name[0])) {
    GeneratorRequest request = parse_request(name[0]);
    request.split = split;
    request.seed = options.seed;
    return {name[0], (*find_generator(name[0].substr(0, name[0].find(':'))))(request)};
  }
  HEED_CHECK_INPUT(name[0] != own_sources, "data",
                   "{} is a running text, pairs of sentences are expected", own_sources);
  check_is_no_misspelt_generator(name[0]);
  return {name[0], std::make_shared<TsvFile>(name[0], options), options.drop_empty};
}

}  // namespace heed::data
