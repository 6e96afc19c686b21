#include "core/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/file.h"
#include "tests/support/temporary_folder.h"

namespace heed {
namespace {

class Cgroup : public testing::Test {
 protected:
  void set(const std::string& group, const std::string& cpu_max) {
    std::filesystem::create_directories(mount_ / group);
    write_file("test", mount_ / (group + "/cpu.max"), cpu_max);
  }
  int cores(const std::string& groups) const { return cgroup_cores(groups, mount_ / "", 8); }

  test::TemporaryFolder mount_;
};

TEST_F(Cgroup, QuotaIsRoundedToCores) {
  for (const auto& [cpu_max, expected] : {std::pair{"200000 100000\n", 2},
                                          {"149000 100000\n", 1},
                                          {"150000 100000\n", 2},
                                          {"1000 100000\n", 1},
                                          {"max 100000\n", 8},
                                          {"9900000 100000\n", 8},
                                          {"", 8},
                                          {"100000 0\n", 8},
                                          {"none of it", 8}}) {
    set("", cpu_max);
    EXPECT_EQ(cores("0::/\n"), expected) << cpu_max;
  }
}

TEST_F(Cgroup, LeastQuotaOnTheWayToTheRootHolds) {
  set("user.slice/job.scope", "max 100000\n");
  set("user.slice", "300000 100000\n");
  EXPECT_EQ(cores("0::/user.slice/job.scope\n"), 3);
  set("user.slice/job.scope", "100000 50000\n");
  EXPECT_EQ(cores("12:cpuset:/elsewhere\n0::/user.slice/job.scope\n"), 2);
  EXPECT_EQ(cores("0::/user.slice\n"), 3);
  EXPECT_EQ(cores("0::/\n"), 8);
  EXPECT_EQ(cores(""), 8);
}

}  // namespace
}  // namespace heed
