#!/usr/bin/env bash
# For a machine with an NVIDIA card: builds heed with CUDA, holds the card to the tests, looks for
# wrong accesses with compute-sanitizer, and trains two examples for a while on both devices.
#   bench/gpu_check.sh        (some 8 minutes; a short table comes last)
set -euo pipefail
cd "$(dirname "$0")/.."

command -v nvidia-smi > /dev/null && nvidia-smi -L || {
  echo "[gpu_check] there is no NVIDIA card here (nvidia-smi -L finds none)" >&2
  exit 2
}
command -v nvcc > /dev/null || {
  echo "[gpu_check] there is no CUDA toolkit here: nvcc is not on the PATH" >&2
  exit 2
}

capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
build=build/cuda
cmake --preset cuda -DHEED_BUILD_TESTS=ON -DHEED_BUILD_EXAMPLES=OFF \
  -DCMAKE_CUDA_ARCHITECTURES="$capability" > /dev/null
cmake --build --preset cuda -j "$(nproc)" \
  --target heed heed_{kernels,autograd,nn,golden,train}_tests > /dev/null

rows=()
failed=0
row() { rows+=("$(printf '%-44s %s' "$1" "$2")"); }

# A test program on the card; its last lines when it fails.
check() {
  local name=$1
  shift
  local log=$build/check.log
  if "$@" > "$log" 2>&1; then
    row "$name" "$(grep -oE '\[  PASSED  \] .*' "$log" | tail -1)"
  else
    # A crash leaves no such lines.
    grep -E 'FAILED|ERROR' -m 20 "$log" || tail -5 "$log"
    failed=1
    row "$name" "FAILED"
  fi
}

row card "$($build/heed --version | awk '$1 == "cuda" { $1 = ""; print }')"
for room in kernels autograd nn golden; do
  check "tests of $room, on the card" timeout 120 $build/tests/heed_${room}_tests
done
check "training, on the card" timeout 120 $build/tests/heed_train_tests --gtest_filter='*DeviceTraining*'
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck; do
    check "compute-sanitizer, $tool" timeout 120 compute-sanitizer --tool $tool --error-exitcode 1 \
      $build/tests/heed_kernels_tests \
      --gtest_filter='Attention.*Plain*:Softmax.*:LayerNorm.*:*Rows.*:-*DependOnTheThreads'
  done
fi

# What the log says of the speed, after thirty seconds of training.
speed() {
  local config=$1 device=$2 run=$build/speed_$2
  rm -rf "$run"
  timeout 30 $build/heed train "$config" --run "$run" --set run.device="$device" > /dev/null 2>&1 || true
  grep -o '"tokens_per_second":[0-9.]*' "$run/metrics.jsonl" | tail -1 | cut -d: -f2
}
for config in examples/toy_transformer.toml examples/tatoeba_transformer.toml; do
  [[ -f $config ]] || continue
  for device in cpu cuda; do
    row "$(basename "$config" .toml), $device, tokens/s" "$(speed "$config" $device || echo none)"
  done
done

printf '\n'
printf '%s\n' "${rows[@]}"
exit $failed
