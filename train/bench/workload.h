#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace heed::train {

// What `heed bench` measures: the same work on the same synthetic ids, as often as it is run.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual void run() = 0;

  // Of one run:
  virtual int64_t tokens() const = 0;  // trained on or produced; 0: does not apply
  // Of its matrix products: 6 a weight a position for training (2 forward, 4 backward), and those
  // of attention's scores and contexts; 2 a weight a position for decoding.
  virtual double flops() const = 0;
  // Bytes of weights that have to be read from memory at least; 0: does not apply.
  virtual double weight_bytes() const { return 0; }
};

struct BenchPreset {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Workload> (*make)();
};

const std::vector<BenchPreset>& bench_presets();

}  // namespace heed::train
