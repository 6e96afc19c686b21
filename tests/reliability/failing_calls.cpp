#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// Preloaded into a program (LD_PRELOAD), makes its system calls fail where the environment says:
//   HEED_FAIL_CALL   open, write, fsync, close, rename, link or statvfs
//   HEED_FAIL_PATH   what the path of the file contains; "...$": what it ends with
//   HEED_FAIL_SKIP   how many such calls succeed first (default 0)
//   HEED_FAIL_TIMES  how many fail then (default: all)
//   HEED_FAIL_WITH   the errno, or "kill": the process dies at the call instead; "hold": it stays
//                    there until a signal ends it; "interrupt": it gets a SIGINT there, and the
//                    call succeeds
// A write that fails comes after one of half the bytes. statvfs does not fail: nothing is free.
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool path_matches(const std::string& path) {
  std::string pattern = variable("HEED_FAIL_PATH");
  if (pattern.ends_with("$")) {
    pattern.pop_back();
    return path.ends_with(pattern);
  }
  return path.find(pattern) != std::string::npos;
}

// Whether this call is one to fail; dies there when that is asked for.
bool fails(const char* call, const std::string& path) {
  static std::atomic<int> seen{0};
  if (std::strcmp(variable("HEED_FAIL_CALL"), call) != 0 || !path_matches(path)) {
    return false;
  }
  const int count = seen++ - std::atoi(variable("HEED_FAIL_SKIP"));
  const char* times = variable("HEED_FAIL_TIMES");
  if (count < 0 || (*times != '\0' && count >= std::atoi(times))) {
    return false;
  }
  if (std::strcmp(variable("HEED_FAIL_WITH"), "kill") == 0) {
    std::raise(SIGKILL);
  }
  while (std::strcmp(variable("HEED_FAIL_WITH"), "hold") == 0) {
    ::pause();
  }
  if (std::strcmp(variable("HEED_FAIL_WITH"), "interrupt") == 0) {
    std::raise(SIGINT);
    return false;
  }
  errno = std::atoi(variable("HEED_FAIL_WITH"));
  return true;
}

std::string path_of(int file) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof(path));
  return {path, size > 0 ? static_cast<size_t>(size) : 0};
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  static const auto next = real<int (*)(const char*, int, ...)>("open");
  return fails("open", path) ? -1 : next(path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t count) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  static std::atomic<int> halves{0};
  if (std::strcmp(variable("HEED_FAIL_CALL"), "write") == 0 && file > STDERR_FILENO &&
      path_matches(path_of(file)) && halves++ == std::atoi(variable("HEED_FAIL_SKIP"))) {
    return next(file, bytes, count / 2);
  }
  return file > STDERR_FILENO && fails("write", path_of(file)) ? -1 : next(file, bytes, count);
}

int fsync(int file) {
  static const auto next = real<int (*)(int)>("fsync");
  return fails("fsync", path_of(file)) ? -1 : next(file);
}

int close(int file) {
  static const auto next = real<int (*)(int)>("close");
  const std::string path = path_of(file);
  const int result = next(file);
  return fails("close", path) ? -1 : result;
}

int rename(const char* from, const char* to) {
  static const auto next = real<int (*)(const char*, const char*)>("rename");
  return fails("rename", to) ? -1 : next(from, to);
}

int link(const char* from, const char* to) {
  static const auto next = real<int (*)(const char*, const char*)>("link");
  return fails("link", to) ? -1 : next(from, to);
}

int statvfs(const char* path, struct statvfs* status) {
  static const auto next = real<int (*)(const char*, struct statvfs*)>("statvfs");
  const int result = next(path, status);
  if (fails("statvfs", path)) {
    status->f_bavail = 0;
  }
  return result;
}

}  // extern "C"
