#include "core/device.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace heed {
namespace {

TEST(Device, IsTheProcessorByDefault) {
  EXPECT_EQ(Device{}, (Device{DeviceKind::cpu, 0}));
  EXPECT_NE(Device{}, (Device{DeviceKind::cuda, 0}));
  EXPECT_NE((Device{DeviceKind::cuda, 0}), (Device{DeviceKind::cuda, 1}));
}

TEST(Device, HasANameThatParsesBack) {
  const std::pair<Device, std::string> cases[] = {{{DeviceKind::cpu, 0}, "cpu"},
                                                  {{DeviceKind::cuda, 0}, "cuda"},
                                                  {{DeviceKind::cuda, 1}, "cuda:1"},
                                                  {{DeviceKind::cuda, 12}, "cuda:12"}};
  for (const auto& [device, name] : cases) {
    EXPECT_EQ(device_name(device), name);
    EXPECT_EQ(parse_device(name), device) << name;
  }
  EXPECT_EQ(parse_device("cuda:0"), (Device{DeviceKind::cuda, 0}));
}

TEST(Device, RefusesWhatIsNoDevice) {
  for (const std::string text :
       {"gpu", "", "CPU", "cpu ", " cpu", "cpu:0", "cuda:", "cuda1", "cuda:-1", "cuda:+1",
        "cuda: 1", "cuda:1x", "cuda:1.5", "cuda:99999999999", "cuda:one"}) {
    try {
      parse_device(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()),
                "[device] '" + text + "' is no device; known are cpu, cuda, cuda:N");
    }
  }
}

}  // namespace
}  // namespace heed
