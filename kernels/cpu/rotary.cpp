#include <cmath>
#include <vector>

#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"

namespace heed::kernels {
namespace {

// Where the rows of one position lie, for every combination of the dimensions in front.
std::vector<int64_t> leading_offsets(const Tensor& x, int dropped) {
  Shape shape = x.shape();
  Shape strides = x.strides();
  for (int i = 0; i < dropped; ++i) {
    shape.erase(shape.rank() - 1);
    strides.erase(strides.rank() - 1);
  }
  std::vector<int64_t> offsets;
  for_each_offset(shape, strides, [&](int64_t at) { offsets.push_back(at); });
  return offsets;
}

template <typename T>
struct Row {
  T* data;
  int64_t stride;
};

// (a, b) -> (a cos - b sin, a sin + b cos); a = x[i step], b = x[i step + gap].
template <typename T>
void turn(const Row<T>& x, const Row<T>& y, int64_t step, int64_t gap, const std::vector<T>& cosine,
          const std::vector<T>& sine) {
  for (size_t i = 0; i < cosine.size(); ++i) {
    const int64_t first = static_cast<int64_t>(i) * step;
    const int64_t second = first + gap;
    const T a = x.data[first * x.stride];
    const T b = x.data[second * x.stride];
    y.data[first * y.stride] = a * cosine[i] - b * sine[i];
    y.data[second * y.stride] = a * sine[i] + b * cosine[i];
  }
}

}  // namespace

// Positions are the outer loop: their sines and cosines serve every head and, as a rule, every row
// of the batch.
void CpuBackend::rotary(const Tensor& x, const Tensor& positions, double base, bool half,
                        bool inverse, const Tensor& y) {
  const int64_t length = x.dim(-2);
  const int64_t pairs = x.dim(-1) / 2;
  if (x.numel() == 0) {
    return;
  }
  std::vector<double> frequencies;
  for (int64_t i = 0; i < pairs; ++i) {
    const double exponent = static_cast<double>(-i) / static_cast<double>(pairs);
    frequencies.push_back((inverse ? -1 : 1) * std::pow(base, exponent));
  }
  const std::vector<int64_t> from = leading_offsets(x, 2);
  const std::vector<int64_t> to = leading_offsets(y, 2);
  const std::vector<int64_t> at = leading_offsets(positions, 1);
  dispatch_floating("rotary", x.dtype(), [&]<typename T>(T) {
    const int64_t elements = 2 * pairs * static_cast<int64_t>(from.size());
    parallel_for(
        length, std::max<int64_t>(1, elementwise_grain / elements),
        [&](int64_t begin, int64_t end) {
          std::vector<T> cosine(static_cast<size_t>(pairs));
          std::vector<T> sine(static_cast<size_t>(pairs));
          for (int64_t t = begin; t < end; ++t) {
            const int32_t* here = positions.data<int32_t>() + t * positions.strides().dim(-1);
            for (size_t row = 0; row < from.size(); ++row) {
              const int32_t position = here[at[row]];
              if (row == 0 || position != here[at[row - 1]]) {
                for (size_t i = 0; i < frequencies.size(); ++i) {
                  const double angle = position * frequencies[i];
                  cosine[i] = static_cast<T>(std::cos(angle));
                  sine[i] = static_cast<T>(std::sin(angle));
                }
              }
              turn<T>({x.data<T>() + from[row] + t * x.strides().dim(-2), x.strides().dim(-1)},
                      {y.data<T>() + to[row] + t * y.strides().dim(-2), y.strides().dim(-1)},
                      half ? 1 : 2, half ? pairs : 1, cosine, sine);
            }
          }
        });
  });
}

}  // namespace heed::kernels
