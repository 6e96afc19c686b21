#pragma once

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace heed::test {

// A named pipe that gives its text once, to who opens it first.
class Pipe {
 public:
  Pipe(const std::string& path, std::string text) {
    if (mkfifo(path.c_str(), 0600) != 0) {
      throw std::runtime_error("no pipe: " + path);
    }
    writer_ = std::thread([path, text = std::move(text)] { std::ofstream(path) << text; });
  }
  ~Pipe() { writer_.join(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

 private:
  std::thread writer_;
};

}  // namespace heed::test
