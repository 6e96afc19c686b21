#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/input_file.h"
#include "core/input_stream.h"
#include "core/logging.h"
#include "data/text_file.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/report/translation_report.h"
#include "train/run_folder.h"
#include "train/wording.h"

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
  MachineFlags machine;
};

struct Batch {
  std::vector<std::string> lines;
  std::optional<InputError> refused;  // the line after them cannot be read
  bool ended = false;                 // there are no more
};

// Up to `most` lines: one, and those that are there with it.
Batch read_batch(data::TextReader& reader, size_t most) {
  Batch batch;
  try {
    do {
      const auto line = reader.next();
      if (!line) {
        batch.ended = true;
        break;
      }
      batch.lines.emplace_back(*line);
    } while (batch.lines.size() < most && reader.is_ready());
  } catch (const InputError& error) {
    batch.refused = error;
  }
  return batch;
}

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
                   "{} {} longer than any in training (data.max_length = {}); the first "
                   "is {}",
                   counted(too_long_, "sentence"), too_long_ == 1 ? "is" : "are",
                   translator_.config.data.max_length, first_too_long_);
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

// Whether a file is to be written over by its own translation.
bool in_place(const Options& options) {
  const std::string input = options.input == "-" ? "/dev/stdin" : options.input;
  std::error_code not_there;
  return std::filesystem::is_regular_file(options.output, not_there) &&
         std::filesystem::equivalent(input, options.output, not_there);
}

// Translates lines as they come and remembers the alignments for the page.
class Session {
 public:
  Session(const Options& options, Translator translator)
      : options_(options),
        translator_(std::move(translator)),
        decode_(with_flags(translator_.config, options.decoding)),
        in_place_(in_place(options)) {
    if (options.show_alignments || !options.alignments.empty()) {
      check_attends("translate", translator_.config);
    }
    HEED_CHECK_INPUT(!one_picture() || decode_.n_best == 1, "translate",
                     "{} holds one alignment, n_best = {} gives more; an .html page holds them all",
                     options.alignments, decode_.n_best);
    // What stands there may be the input, and stays until there is something to write.
    open_output(std::ios::app);
  }

  // Until the input ends. A line that cannot be read or is too long ends the work once those before
  // it are written; but what is the only copy of its lines then stays as it is.
  void translate_all(data::TextReader& reader) {
    // All of a file that is written over.
    const size_t most = in_place_ ? std::numeric_limits<size_t>::max() : 1024;
    size_t first = 1;
    for (bool ended = false; !ended;) {
      Batch batch = read_batch(reader, most);
      ended = batch.ended;
      check(batch, first, reader.name());
      if (in_place_ && batch.refused) {
        batch.lines.clear();
      }
      write_translations(batch.lines);
      first += batch.lines.size();
      if (batch.refused) {
        throw *batch.refused;
      }
    }
    reader.log_repairs();
  }

  bool has_begun() const { return begun_; }

  void finish() {
    if (options_.output != "-") {
      write("");
      file_.close();
      HEED_CHECK(!file_.fail(), "translate", "{} cannot be written; is the disk full?",
                 options_.output);
    }
    unseen_.report();
    if (!options_.alignments.empty()) {
      write_alignments();
    }
  }

 private:
  bool one_picture() const { return options_.alignments.ends_with(".svg"); }

  // Takes from the batch what follows a line that is too long, and that.
  void check(Batch& batch, size_t first, const std::string& name) {
    for (size_t i = 0; i < batch.lines.size(); ++i) {
      const std::string place = fmt::format("line {} of {}", first + i, name);
      try {
        check_fits(translator_, batch.lines[i], place);
      } catch (const InputError& error) {
        batch.refused = error;
        batch.lines.resize(i);
        return;
      }
      unseen_.add(batch.lines[i], place);
      if (one_picture() && !translator_.text.source.encode_pieces(batch.lines[i]).empty()) {
        HEED_CHECK_INPUT(
            sentences_++ == 0, "translate",
            "{} holds one alignment, {} would be another; an .html page holds them all",
            options_.alignments, place);
      }
    }
  }

  // One line out for each line in (n of them with --n-best); empty in, empty out.
  void write_translations(const std::vector<std::string>& texts) {
    auto all = translate(translator_, texts, decode_,
                         options_.show_alignments || !options_.alignments.empty());
    for (size_t i = 0; i < texts.size(); ++i) {
      all[i].resize(static_cast<size_t>(decode_.n_best));
      for (const Translation& translation : all[i]) {
        write(options_.scores
                  ? fmt::format("{}\t{}\n", fixed(translation.score, 4), translation.text)
                  : translation.text + "\n");
        remember(texts[i], translation);
      }
    }
  }

  void open_output(std::ios::openmode mode) {
    if (options_.output != "-") {
      file_.open(options_.output, std::ios::binary | std::ios::out | mode);
      HEED_CHECK(file_.good(), "translate", "{} cannot be written: {}", options_.output,
                 std::strerror(errno));
    }
  }

  void write(const std::string& text) {
    if (options_.output == "-") {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    } else {
      if (!begun_) {
        file_.close();
        open_output(std::ios::trunc);
      }
      file_ << text;
    }
    begun_ = true;
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

  void write_alignments() {
    HEED_CHECK_INPUT(!one_picture() || !pictures_.empty(), "translate",
                     "there is no sentence whose alignment {} could hold", options_.alignments);
    write_output(options_.alignments, one_picture() ? alignment_svg(pictures_.front())
                                                    : alignments_html("Alignments", pictures_,
                                                                      alignment_note(translator_)));
    log::info("translate", "{}: {}", counted(std::ssize(pictures_), "alignment"),
              options_.alignments);
  }

  const Options& options_;
  Translator translator_;
  DecodeConfig decode_;
  bool in_place_;
  Unseen unseen_{translator_};
  std::ofstream file_;
  bool begun_ = false;     // something is written; a file is ours now
  int64_t sentences_ = 0;  // for the one picture
  std::vector<AlignmentPicture> pictures_;
};

void run_translate(const Options& options) {
  check_ending("--alignments", options.alignments,
               {{".html", "a page"}, {".svg", "a picture of the only one"}});
  options.machine.apply();
  Translator translator = restore_translator(load_trained(options.run));
  const data::InvalidUtf8 policy = invalid_utf8_policy(translator.config.data);
  const auto reader =
      options.input == "-"
          ? std::make_unique<data::TextReader>(InputStream::standard_input("translate"), policy)
          : std::make_unique<data::TextReader>(std::make_shared<InputFile>("data", options.input),
                                               policy, data::EmptyText::allowed);
  Session session(options, std::move(translator));
  if (options.input == "-" && ::isatty(STDIN_FILENO) != 0) {
    log::info("translate", "type a sentence a line; Ctrl-D ends");
  }
  try {
    session.translate_all(*reader);
  } catch (const InputError&) {
    if (session.has_begun()) {
      session.finish();
    }
    throw;
  }
  session.finish();
}

}  // namespace

void add_translate_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("translate", "Translate text with a trained run");
  command->footer(
      "One line out for each line in; a line that cannot be read or is longer than the model's\n"
      "context ends the work, with those before it written (but a file that --output writes over\n"
      "itself then stays as it is). The best checkpoint by validation is used.\n\n"
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
  options->machine.add_to(*command);
  command->callback([options] { run_translate(*options); });
}

}  // namespace heed::train
