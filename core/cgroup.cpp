#include "core/cgroup.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace heed {
namespace {

// Of the one folder: cpu.max is "quota period" or "max period", both in microseconds.
int folder_cores(const std::string& folder, int otherwise) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) {
    return otherwise;
  }
  return std::max(1, static_cast<int>(std::lround(quota / period)));
}

// The process's own group, "/" in a namespace of its own.
std::string group_of(const std::string& groups) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) {
      return line.substr(3);
    }
  }
  return "/";
}

}  // namespace

// A quota holds for all groups below it.
int cgroup_cores(const std::string& groups, const std::string& mount, int otherwise) {
  int cores = otherwise;
  std::string group = group_of(groups);
  while (!group.empty()) {
    cores = std::min(cores, folder_cores(mount + group, otherwise));
    group.erase(group.rfind('/'));
  }
  return std::min(cores, folder_cores(mount, otherwise));
}

}  // namespace heed
