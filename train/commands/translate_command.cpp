#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
#include "data/text_file.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/report/translation_report.h"
#include "train/run_folder.h"

namespace heed::train {
namespace {

struct Options {
  std::string run;
  std::string input = "-";
  std::string output = "-";
  std::string alignments;
  bool show_alignments = false;
  bool scores = false;
  DecodingFlags decoding;
};

constexpr size_t lines_at_once = 1024;

// What a model has not seen in training makes poor translations; the user hears of it, once.
class Unseen {
 public:
  explicit Unseen(const Translator& translator) : translator_(translator) {}

  void add(const std::string& text, const std::string& place) {
    const TextSide& side = translator_.text.source;
    const auto pieces = side.encode_pieces(text);
    tokens_ += pieces.size();
    for (const std::string& piece : pieces) {
      if (side.vocabulary.id(piece) == data::Vocabulary::unknown && unknown_++ == 0) {
        first_unknown_ = fmt::format("'{}' in {}", piece, place);
      }
    }
    if (static_cast<int64_t>(pieces.size()) > translator_.config.data.max_length &&
        too_long_++ == 0) {
      first_too_long_ = place;
    }
  }

  void report() const {
    if (unknown_ > 0) {
      log::warning("translate", "{} of {} source tokens are not in the vocabulary; the first is {}",
                   unknown_, tokens_, first_unknown_);
    }
    if (too_long_ > 0) {
      log::warning("translate",
                   "{} sentences are longer than any in training (data.max_length = {}); the first "
                   "is {}",
                   too_long_, translator_.config.data.max_length, first_too_long_);
    }
  }

 private:
  const Translator& translator_;
  size_t tokens_ = 0;
  int64_t unknown_ = 0;
  std::string first_unknown_;
  int64_t too_long_ = 0;
  std::string first_too_long_;
};

// Translates lines as they come and remembers the alignments for the page.
class Session {
 public:
  Session(const Options& options, Translator translator)
      : options_(options),
        translator_(std::move(translator)),
        decode_(with_flags(translator_.config.decode, options.decoding)) {
    HEED_CHECK_INPUT(translator_.config.model.kind != "rnnencdec" ||
                         (options.alignments.empty() && !options.show_alignments),
                     "translate", "{} does not attend: it has no alignments",
                     translator_.config.model.kind);
    // What stands there may be the input, and stays until there is something to write.
    open_output(std::ios::app);
  }

  // One line out for each line in (n of them with --n-best); empty in, empty out. `first`: the
  // number of the first one in what is called `name`. A line that is too long ends the work, once
  // those before it are written.
  void lines(std::vector<std::string> texts, size_t first, const std::string& name) {
    std::optional<InputError> refused;
    for (size_t i = 0; i < texts.size() && !refused; ++i) {
      const std::string place = fmt::format("line {} of {}", first + i, name);
      try {
        check_fits(translator_, texts[i], place);
        unseen_.add(texts[i], place);
      } catch (const InputError& error) {
        refused = error;
        texts.resize(i);
      }
    }
    auto all = translate(translator_, texts, decode_,
                         options_.show_alignments || !options_.alignments.empty());
    for (size_t i = 0; i < texts.size(); ++i) {
      all[i].resize(static_cast<size_t>(decode_.n_best));
      for (const Translation& translation : all[i]) {
        write(options_.scores ? fmt::format("{:.4f}\t{}\n", translation.score, translation.text)
                              : translation.text + "\n");
        remember(texts[i], translation);
      }
    }
    if (refused) {
      throw *refused;
    }
  }

  void finish() {
    unseen_.report();
    if (!options_.alignments.empty()) {
      const bool picture = options_.alignments.ends_with(".svg");
      HEED_CHECK_INPUT(!picture || pictures_.size() == 1, "translate",
                       "{} holds one alignment, there are {}; an .html page holds them all",
                       options_.alignments, pictures_.size());
      write_output(options_.alignments,
                   picture ? alignment_svg(pictures_.front())
                           : alignments_html("Alignments", pictures_, alignment_note(translator_)));
      log::info("translate", "{} alignments: {}", pictures_.size(), options_.alignments);
    }
    if (options_.output != "-") {
      write("");
      file_.close();
      HEED_CHECK(!file_.fail(), "translate", "{} cannot be written; is the disk full?",
                 options_.output);
    }
  }

 private:
  void open_output(std::ios::openmode mode) {
    if (options_.output != "-") {
      file_.open(options_.output, std::ios::binary | std::ios::out | mode);
      HEED_CHECK(file_.good(), "translate", "{} cannot be written", options_.output);
    }
  }

  void write(const std::string& text) {
    if (options_.output == "-") {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
      return;
    }
    if (!begun_) {
      file_.close();
      open_output(std::ios::trunc);
      begun_ = true;
    }
    file_ << text;
  }

  void remember(const std::string& source, const Translation& translation) {
    if (options_.alignments.empty() && !options_.show_alignments) {
      return;
    }
    auto picture = alignment_picture(translator_, source, translation);
    if (!picture) {
      return;
    }
    if (options_.show_alignments) {
      const bool colour = ::isatty(STDOUT_FILENO) != 0;
      write(alignment_text(*picture, 100, colour) + "\n");
    }
    if (!options_.alignments.empty()) {
      pictures_.push_back(std::move(*picture));
    }
  }

  const Options& options_;
  Translator translator_;
  DecodeConfig decode_;
  Unseen unseen_{translator_};
  std::ofstream file_;
  bool begun_ = false;  // the output is ours now
  std::vector<AlignmentPicture> pictures_;
};

// Standard input line by line when somebody types, else in larger parts.
void translate_standard_input(Session& session, data::InvalidUtf8 policy) {
  const size_t at_once = ::isatty(STDIN_FILENO) != 0 ? 1 : lines_at_once;
  std::vector<std::string> waiting;
  std::string line;
  size_t number = 0;
  const std::string name = "standard input";
  const auto translate_waiting = [&] {
    const size_t first = number - waiting.size() + 1;
    session.lines(std::exchange(waiting, {}), first, name);
  };
  while (std::getline(std::cin, line)) {
    try {
      if (number == 0) {
        line += std::cin.eof() ? "" : "\n";
        const auto first = data::parse_text(line, name, policy).lines;
        waiting.insert(waiting.end(), first.begin(), first.end());
      } else {
        waiting.push_back(data::parse_line(line, number + 1, name, policy));
      }
    } catch (const InputError&) {
      translate_waiting();
      throw;
    }
    ++number;
    if (waiting.size() >= at_once) {
      translate_waiting();
    }
  }
  translate_waiting();
}

void translate_file(Session& session, const std::string& path, data::InvalidUtf8 policy) {
  const auto lines = data::read_text_file(path, policy).lines;
  for (size_t begin = 0; begin < lines.size(); begin += lines_at_once) {
    const size_t end = std::min(lines.size(), begin + lines_at_once);
    session.lines({lines.begin() + static_cast<std::ptrdiff_t>(begin),
                   lines.begin() + static_cast<std::ptrdiff_t>(end)},
                  begin + 1, path);
  }
}

void run_translate(const Options& options) {
  use_threads(options.decoding.threads);
  Translator translator = restore_translator(load_trained(options.run));
  const data::InvalidUtf8 policy = invalid_utf8_policy(translator.config.data);
  Session session(options, std::move(translator));
  if (options.input == "-") {
    translate_standard_input(session, policy);
  } else {
    translate_file(session, options.input, policy);
  }
  session.finish();
}

}  // namespace

void add_translate_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("translate", "Translate text with a trained run");
  command->footer(
      "One line out for each line in; a line that cannot be read or is longer than the model's\n"
      "context ends the work, with those before it written. The best checkpoint by validation is\n"
      "used.\n\n"
      "  echo 'the small cat sleeps .' | heed translate runs/toy_translator\n"
      "  heed translate runs/toy_translator --input a.en --output a.fr --beam 5\n"
      "  heed translate runs/toy_translator --input a.en --alignments a.html");
  command->add_option("RUN", options->run, "A run folder or a checkpoint file")
      ->required()
      ->type_name("");
  command
      ->add_option("--input", options->input, "A text file, a sentence a line; - = standard input")
      ->type_name("FILE");
  command->add_option("--output", options->output, "Where to; - = standard output")
      ->type_name("FILE");
  command
      ->add_option("--alignments", options->alignments,
                   "Write the alignments as a page, or the only one as an .svg picture")
      ->type_name("HTML");
  command->add_flag("--show-alignments", options->show_alignments,
                    "Print each alignment beneath its translation");
  command->add_flag("--scores", options->scores, "Put the score and a TAB before each translation");
  options->decoding.add_to(*command, true);
  command->callback([options] { run_translate(*options); });
}

}  // namespace heed::train
