#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/logging.h"
#include "data/text_corpus.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/evaluation.h"
#include "train/fingerprint.h"
#include "train/language_model.h"
#include "train/report/chart.h"
#include "train/report/table.h"
#include "train/report/translation_report.h"
#include "train/run_folder.h"
#include "train/scoring/by_length.h"
#include "train/wording.h"

namespace heed::train {
namespace {

struct Options {
  std::string run;
  std::vector<std::string> compared;
  std::vector<std::string> corpus;
  std::string bleu_tokenize = "13a";
  std::string by_length;
  bool with_by_length = false;
  int64_t bucket = 5;
  std::string alignments;
  int64_t alignments_shown = 20;
  bool json = false;
  DecodingFlags decoding;
  MachineFlags machine;
};

// A run to score, and the checkpoint of it that is scored.
struct ScoredRun {
  std::string name;  // as it was given
  std::string checkpoint;
  int64_t step;
  Translator translator;
};

ScoredRun scored_run(const std::string& name, const Checkpoint& checkpoint) {
  return {name, checkpoint.path, checkpoint.state.step, restore_translator(checkpoint)};
}

CorpusName corpus_name(const Options& options, const Config& config) {
  const CorpusName& name = options.corpus.empty() ? config.data.test : options.corpus;
  HEED_CHECK_INPUT(!name.empty(), "evaluate",
                   "the run names no test corpus; name one: --corpus FILE");
  HEED_CHECK_INPUT(name != CorpusName{"none"}, "evaluate",
                   "--corpus is none: there is nothing to score; name a corpus");
  return name;
}

EncodedCorpus encoded(const Translator& translator, const data::PairCorpus& pairs) {
  EncodedCorpus corpus =
      encode_corpus(translator.config, translator.text, pairs, CorpusUse::evaluation);
  check_fits(translator, corpus);
  return corpus;
}

void print_checkpoint(const std::string& path, const Config& config, int64_t step) {
  fmt::print("{}: {} at step {}\n", path, config.model.kind, step);
}

void add_loss(nlohmann::ordered_json& json, const CorpusLoss& loss) {
  json["loss"] = loss.loss_per_token();
  json["nll"] = loss.nll_per_token();
  json["perplexity"] = loss.perplexity();
}

void add_loss(TextTable& table, const CorpusLoss& loss) {
  table.add(
      {"loss", fmt::format("{:.4f}", loss.loss_per_token()), "nats a token, smoothing included"});
  table.add({"nll", fmt::format("{:.4f}", loss.nll_per_token()), "nats a token"});
  table.add({"perplexity", fmt::format("{:.3f}", loss.perplexity()), ""});
}

// One run's curve of Bahdanau et al. 2015, figure 2.
struct LengthCurve {
  std::string run;
  int64_t step;
  std::string signature;
  std::vector<LengthBucket> buckets;
};

void print_json(const ScoredRun& run, const Evaluation& result, const EncodedCorpus& corpus,
                const std::vector<LengthCurve>& curves) {
  nlohmann::ordered_json json = {
      {"checkpoint", run.checkpoint}, {"step", run.step}, {"corpus", corpus.name}};
  add_loss(json, result.loss);
  json["bleu"] = result.bleu.score;
  json["bleu_signature"] = result.bleu.signature;
  json["chrf"] = result.chrf.score;
  json["chrf_signature"] = result.chrf.signature;
  json["exact"] = result.exact;
  json["tokens"] = result.loss.tokens;
  json["sentences"] = corpus.examples.size();
  if (result.alignment_accuracy) {
    json["alignment_accuracy"] = *result.alignment_accuracy;
  }
  for (const LengthCurve& curve : curves) {
    for (const LengthBucket& bucket : curve.buckets) {
      json["by_length"].push_back({{"run", curve.run},
                                   {"step", curve.step},
                                   {"min_length", bucket.min_length},
                                   {"max_length", bucket.max_length},
                                   {"sentences", bucket.sentences},
                                   {"bleu", bucket.bleu.score}});
    }
  }
  fmt::print("{}\n", json.dump());
}

void print_scores(const ScoredRun& run, const Evaluation& result, const EncodedCorpus& corpus) {
  print_checkpoint(run.checkpoint, run.translator.config, run.step);
  fmt::print("{}: {}, {}\n", corpus.name,
             counted(static_cast<int64_t>(corpus.examples.size()), "sentence"),
             counted(result.loss.tokens, "target token"));
  TextTable table({"score", "value", ""}, {false, true, false});
  add_loss(table, result.loss);
  table.add({"BLEU", fmt::format("{:.2f}", result.bleu.score), result.bleu.signature});
  table.add({"chrF", fmt::format("{:.2f}", result.chrf.score), result.chrf.signature});
  table.add(
      {"exact", fmt::format("{:.2f}%", 100 * result.exact), "sentences equal to their reference"});
  if (result.alignment_accuracy) {
    table.add({"alignment", fmt::format("{:.2f}%", 100 * *result.alignment_accuracy),
               "target words whose strongest source word is a true one"});
  }
  fmt::print("{}", table.text());
}

void print_curve(const LengthCurve& curve) {
  TextTable table({"source words", "sentences", "BLEU"}, {true, true, true});
  for (const LengthBucket& bucket : curve.buckets) {
    table.add({fmt::format("{}-{}", bucket.min_length, bucket.max_length),
               fmt::format("{}", bucket.sentences), fmt::format("{:.2f}", bucket.bleu.score)});
  }
  fmt::print("\n{} at step {}, BLEU {}\n{}", curve.run, curve.step, curve.signature, table.text());
}

// Of the run and those it is compared with: the same sentences in the same ranges, by the words of
// the first.
std::vector<LengthCurve> length_curves(const Options& options, const std::vector<ScoredRun>& runs,
                                       const EncodedCorpus& corpus,
                                       const std::vector<Evaluation>& results) {
  std::vector<int64_t> lengths;
  for (const data::SentencePair& pair : corpus.pairs) {
    lengths.push_back(std::ssize(runs.front().translator.text.source.encode_pieces(pair.source)));
  }
  std::vector<LengthCurve> curves;
  for (size_t i = 0; i < results.size(); ++i) {
    const Evaluation& result = results[i];
    curves.push_back({runs[i].name, runs[i].step, result.bleu.signature,
                      bleu_by_length(lengths, result.hypotheses, result.references, options.bucket,
                                     result.bleu_options)});
  }
  return curves;
}

void draw(const Options& options, const std::vector<LengthCurve>& curves) {
  std::vector<Series> all;
  for (const LengthCurve& curve : curves) {
    Series& series = all.emplace_back(Series{curve.run, {}, {}, true});
    for (const LengthBucket& bucket : curve.buckets) {
      series.x.push_back(static_cast<double>(bucket.max_length));
      series.y.push_back(bucket.bleu.score);
    }
  }
  ChartOptions chart;
  chart.title = "BLEU by sentence length";
  chart.x_label = "source words, at most";
  chart.y_label = "BLEU";
  chart.y_range = Range{0, 100};
  write_output(options.by_length, line_chart_svg(all, chart));
  log::info("evaluate", "BLEU by length: {}", options.by_length);
}

void write_alignments(const Options& options, Translator& translator, const EncodedCorpus& corpus) {
  const auto shown =
      std::min(corpus.examples.size(), static_cast<size_t>(options.alignments_shown));
  data::PairStore examples = pair_store(translator.text, corpus.name);
  for (size_t i = 0; i < shown; ++i) {
    examples.append(corpus.examples.at(i));
  }
  const auto attention = forced_attention(translator, examples);
  std::vector<AlignmentPicture> pictures;
  for (size_t i = 0; i < shown; ++i) {
    if (auto picture = alignment_picture(translator, corpus.pairs[i], attention[i])) {
      pictures.push_back(std::move(*picture));
    }
  }
  write_output(options.alignments,
               alignments_html("Alignments of " + corpus.name + ", references given", pictures,
                               alignment_note(translator)));
  log::info("evaluate", "{}: {}", counted(std::ssize(pictures), "alignment"), options.alignments);
}

// The tail of a text that has changed since is not what was held out of it.
void warn_of_other_text(const LanguageModel& language_model, const data::RunningText& train) {
  const std::string now = fingerprint(
      data::encode_text(*language_model.text.tokenizer, language_model.text.vocabulary, train));
  if (!language_model.training_data.empty() && now != language_model.training_data) {
    log::warning(
        "evaluate",
        "{} has changed since the training: it was {}, it is {}; part of the tail may have "
        "been learned",
        train.name(), language_model.training_data, now);
  }
}

void evaluate_text(const Options& options, const Checkpoint& checkpoint) {
  LanguageModel language_model = restore_language_model(checkpoint);
  const CorpusName name = corpus_name(options, language_model.config);
  const HeldOutText held_out = load_held_out_text(language_model.config, name);
  const EncodedText text = encode_running_text(language_model, held_out.text);
  if (held_out.learned) {
    warn_of_other_text(language_model, *held_out.learned);
  }
  const TextLoss result = text_loss(language_model, text);
  const std::optional<double> bits = result.bits_per_character();
  if (options.json) {
    nlohmann::ordered_json json = {
        {"checkpoint", checkpoint.path}, {"step", checkpoint.state.step}, {"corpus", text.name}};
    add_loss(json, result);
    json["tokens"] = result.tokens;
    if (bits) {
      json["bits_per_character"] = *bits;
      json["characters"] = *result.characters;
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  print_checkpoint(checkpoint.path, checkpoint.config, checkpoint.state.step);
  fmt::print("{}: {} tokens{}\n", text.name, result.tokens,
             bits ? fmt::format(", {} characters", *result.characters) : "");
  TextTable table({"score", "value", ""}, {false, true, false});
  add_loss(table, result);
  if (bits) {
    table.add({"bits", fmt::format("{:.4f}", *bits), "bits a character"});
  }
  fmt::print("{}", table.text());
}

// Runs that are compared are scored alike: in lower case if one of them writes it, and tokens only
// where they are the same ones.
EvaluationOptions evaluation_options(const Options& options, const std::vector<ScoredRun>& runs) {
  const Translator& translator = runs.front().translator;
  EvaluationOptions evaluation;
  evaluation.decode = with_flags(translator.config, options.decoding);
  BleuOptions& bleu = evaluation.bleu;
  const bool of_tokens = options.bleu_tokenize == "none";
  bleu.tokenizer = of_tokens ? BleuTokenizer::none : BleuTokenizer::mteval_13a;
  bleu.lowercase = translator.config.data.lowercase;
  for (const ScoredRun& other : runs) {
    HEED_CHECK_INPUT(!of_tokens || other.translator.text.target.tokenizer->state() ==
                                       translator.text.target.tokenizer->state(),
                     "evaluate",
                     "--bleu-tokenize none scores the tokens of a run, and {} has others than {}; "
                     "leave it out",
                     other.name, options.run);
    if (other.translator.config.data.lowercase && !bleu.lowercase) {
      bleu.lowercase = true;
      log::info("evaluate", "all runs are scored in lower case, which is all that {} writes",
                other.name);
    }
  }
  return evaluation;
}

void evaluate_pairs(const Options& options, const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  if (!options.alignments.empty()) {
    check_attends("evaluate", config);
  }
  std::vector<ScoredRun> runs;
  runs.push_back(scored_run(options.run, checkpoint));
  for (const std::string& name : options.compared) {
    runs.push_back(scored_run(name, load_trained(name)));
  }
  const EvaluationOptions evaluation = evaluation_options(options, runs);
  const data::PairCorpus pairs =
      load_corpus(config, corpus_name(options, config), data::Split::test);
  Translator& translator = runs.front().translator;
  const EncodedCorpus corpus = encoded(translator, pairs);
  std::vector<Evaluation> results = {evaluate(translator, corpus, evaluation)};
  for (size_t i = 1; i < runs.size(); ++i) {
    Translator& other = runs[i].translator;
    results.push_back(evaluate(other, encoded(other, pairs), evaluation));
  }
  std::vector<LengthCurve> curves;
  if (options.with_by_length) {
    curves = length_curves(options, runs, corpus, results);
  }
  if (options.json) {
    print_json(runs.front(), results.front(), corpus, curves);
  } else {
    print_scores(runs.front(), results.front(), corpus);
    std::ranges::for_each(curves, print_curve);
  }
  if (!options.by_length.empty()) {
    draw(options, curves);
  }
  if (!options.alignments.empty()) {
    write_alignments(options, translator, corpus);
  }
}

void run_evaluate(const Options& options, const CLI::App& command) {
  check_option("--bleu-tokenize", options.bleu_tokenize, {"13a", "none"});
  check_option("--length-step", options.bucket, {1, 1000});
  check_option("--alignments-shown", options.alignments_shown, {1, 10000});
  check_ending("--by-length", options.by_length, {{".svg", "a picture"}});
  check_ending("--alignments", options.alignments, {{".html", "a page"}});
  options.machine.apply();
  const Checkpoint checkpoint = load_trained(options.run);
  if (checkpoint.config.data.task == "translation") {
    evaluate_pairs(options, checkpoint);
    return;
  }
  for (const CLI::Option* option : command.get_options()) {
    const std::string& option_name = option->get_name();
    static const std::set<std::string> for_texts = {"RUN",      "--corpus",    "--json",
                                                    "--device", "--precision", "--threads"};
    HEED_CHECK_INPUT(option->count() == 0 || for_texts.contains(option_name), "evaluate",
                     "{} is for translators, {} holds a language model", option_name, options.run);
  }
  evaluate_text(options, checkpoint);
}

}  // namespace

void add_evaluate_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("evaluate", "Score a trained run on a corpus");
  command->footer(
      "Of a translator loss, perplexity, BLEU, chrF and exact match on the run's test corpus, or\n"
      "another one; of a language model loss, perplexity and bits a character. The best "
      "checkpoint\n"
      "by validation is scored, or the latest where there was none.\n\n"
      "  heed evaluate runs/toy_translator\n"
      "  heed evaluate runs/toy_translator --corpus mine.tsv --beam 5 --json\n"
      "  heed evaluate runs/toy_translator --by-length lengths.svg --alignments pairs.html");
  command->add_option("RUN", options->run, "A run folder or a checkpoint file")
      ->required()
      ->type_name("");
  command
      ->add_option("--corpus", options->corpus,
                   "A TSV file, a source and a target file, or a generator (grammar:1000:16-30); "
                   "of a language model a text file")
      ->type_name("NAME")
      ->expected(1, 2);
  command
      ->add_option("--bleu-tokenize", options->bleu_tokenize,
                   "13a scores detokenised text, none the tokens themselves")
      ->type_name("13a|none");
  CLI::Option* by_length =
      command
          ->add_option("--by-length", options->by_length,
                       "Print BLEU for each range of source lengths; with a name, draw it")
          ->type_name("[SVG]")
          ->expected(0, 1);
  command
      ->add_option("--compare", options->compared,
                   "Further runs, scored alike on the same sentences, for --by-length")
      ->type_name("RUN")
      ->needs(by_length);
  command->add_option("--length-step", options->bucket, "Source words in each range")
      ->type_name("N")
      ->needs(by_length);
  CLI::Option* alignments =
      command
          ->add_option("--alignments", options->alignments,
                       "Write alignments of the pairs, the references given, as a page")
          ->type_name("HTML");
  command->add_option("--alignments-shown", options->alignments_shown, "How many of them")
      ->type_name("N")
      ->needs(alignments);
  command->add_flag("--json", options->json, "Print one JSON object");
  options->decoding.add_to(*command, false);
  options->machine.add_to(*command);
  command->callback([options, command] {
    options->with_by_length = command->count("--by-length") > 0;
    run_evaluate(*options, *command);
  });
}

}  // namespace heed::train
