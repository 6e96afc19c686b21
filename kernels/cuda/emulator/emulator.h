#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/export.h"

// The emulated device apart from the CUDA names: what tests steer, and what its parts share.
namespace heed::emulator {

// In which order the threads of a block, and the blocks of a grid, take their turns. Results that
// differ between orders mean a missing barrier. Starts as the environment variable
// HEED_EMULATOR_ORDER says: forward (the default), reverse or shuffled.
enum class Order : uint8_t { forward, reverse, shuffled };
HEED_EXPORT Order order();
HEED_EXPORT void set_order(Order order);

// Ends the program with a line on standard error, as a card ends the process's work.
[[noreturn]] HEED_EXPORT void fail(std::string_view what);

// Device memory can be touched while one of these stands: in a kernel, a copy, a product.
class HEED_EXPORT DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// Fails when the bytes around an allocation were written to: some kernel's index was out of bounds.
void check_bounds();
// Whether all of it lies in one allocation.
bool on_device(const void* pointer, size_t bytes);

// Whether all of it is host memory from cudaHostAlloc.
bool is_pinned(const void* pointer, size_t bytes);
// Work for the stream, to be done no earlier than it has to be: when something comes behind it that
// is not put off (catch_up), or an event behind it is waited for.
void put_off(std::function<void()> work);
void catch_up();

// What the runtime says of this machine: tests let it be another one.
struct Machine {
  int driver = 13000;  // 1000 major + 10 minor; 0: none is installed
  int cards = 1;
  int major = 9, minor = 0;  // their capability
  bool has_code = true;      // the build has kernels that they run
};
HEED_EXPORT Machine& machine();

}  // namespace heed::emulator
