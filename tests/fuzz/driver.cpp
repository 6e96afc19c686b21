// heed_fuzz_NAME RUNS: reads every seed, then RUNS random changes of them, the same ones each time.
// What kills the process is left in crash-NAME in the working folder.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>

#include "core/logging.h"
#include "tests/fuzz/target.h"
#include "tests/support/sanitizers.h"

namespace heed::fuzz {
namespace {

constexpr rlim_t most_memory = rlim_t{2} << 30;  // addresses, those of threads included
constexpr time_t most_seconds = 20;              // of the processor, for one input

std::string crash_path;
std::string_view present;

// Only what a signal handler may do.
void keep_input(int signal) {
  const int file = ::open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(file, present.data(), present.size());
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void read_guarded(const std::string& input) {
  present = input;
  const itimerval limit = {{0, 0}, {most_seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  read(input);
}

class Changer {
 public:
  Changer() : seeds_(seeds()), words_(words()) {
    using namespace std::string_literals;
    for (const std::string& word : {"-1"s, "0"s, "1e999"s, "9223372036854775808"s,
                                    "\0\0\0\0\0\0\0\x10"s, "\xFF\xFF\xFF\xFF"s, "\0"s, "\n"s}) {
      words_.push_back(word);
    }
  }

  const std::vector<std::string>& from() const { return seeds_; }

  std::string next() {
    std::string input = pick(seeds_);
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      change(input);
    }
    return input;
  }

 private:
  size_t below(size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random_);
  }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  void change(std::string& input) {
    const size_t at = below(input.size() + 1);
    const size_t length = std::min(input.size() - at, size_t{1} << below(8));
    switch (below(6)) {
      case 0:  // another byte
        if (at < input.size()) {
          input[at] = static_cast<char>(random_());
        }
        break;
      case 1:  // a flipped bit
        if (at < input.size()) {
          input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        }
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:  // a piece once more
        input.insert(below(input.size() + 1), input.substr(at, length));
        break;
      case 4:
        input.insert(at, pick(words_));
        break;
      default: {  // the tail of another
        const std::string& other = pick(seeds_);
        input = input.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }

  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
  std::mt19937_64 random_{1};
};

void limit_memory() {
  if (!test::memory_is_watched) {
    const rlimit limit = {most_memory, most_memory};
    demand(::setrlimit(RLIMIT_AS, &limit) == 0, "the memory can be limited");
  }
}

int drive(const std::string& program, long runs) {
  log::set_level(log::Level::off);
  crash_path = "crash-" + std::filesystem::path(program).filename().string();
  Changer changer;
  limit_memory();
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF}) {
    std::signal(signal, keep_input);
  }
  for (const std::string& seed : changer.from()) {
    read_guarded(seed);
  }
  for (long run = 0; run < runs; ++run) {
    read_guarded(changer.next());
  }
  std::printf("%zu seeds, %ld changes of them\n", changer.from().size(), runs);
  return 0;
}

}  // namespace
}  // namespace heed::fuzz

int main(int count, char** arguments) {
  const long runs = count == 2 ? std::atol(arguments[1]) : 0;
  if (runs <= 0) {
    std::fprintf(stderr, "usage: %s RUNS\n", arguments[0]);
    return 2;
  }
  return heed::fuzz::drive(arguments[0], runs);
}
