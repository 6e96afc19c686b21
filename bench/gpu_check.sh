#!/usr/bin/env bash
# For a machine with an NVIDIA card: builds heed with CUDA, holds the card to the tests (the table of ops, gradients,
# models, how exact attention is), looks for wrong accesses with compute-sanitizer, and times the presets, against
# PyTorch where PYTHON (python3) has it.
#   bench/gpu_check.sh        (under 8 minutes; a short table comes last; GPU_CHECK_SECONDS: another limit)
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${GPU_CHECK_SECONDS:-460}
python=${PYTHON:-python3}

command -v nvidia-smi > /dev/null && nvidia-smi -L || {
  echo "[gpu_check] there is no NVIDIA card here (nvidia-smi -L finds none)" >&2
  exit 2
}
command -v nvcc > /dev/null || {
  echo "[gpu_check] there is no CUDA toolkit here: nvcc is not on the PATH" >&2
  exit 2
}

rows=()
failed=0
row() { rows+=("$(printf '%-44s %s' "$1" "$2")"); }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command, for as long as there is time left, its output in the log.
within_limit() {
  local left=$((limit - SECONDS))
  [[ $left -gt 0 ]] || { echo 'no time left' > "$log"; return 124; }
  timeout "$left" "$@" > "$log" 2>&1
}
# One row of the table for a test program; what failed is printed at once.
check() {
  local name=$1 begin=$SECONDS
  shift
  if within_limit "$@"; then
    row "$name" "$(grep -oE '\[  PASSED  \] .*' "$log" | tail -1), $((SECONDS - begin)) s"
  else
    # A crash leaves no such lines.
    grep -E 'FAILED|ERROR|error' -m 20 "$log" || tail -5 "$log"
    failed=1
    row "$name" "FAILED"
  fi
}

capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
build=build/cuda
cmake --preset cuda -DHEED_BUILD_TESTS=ON -DHEED_BUILD_EXAMPLES=OFF \
  -DCMAKE_CUDA_ARCHITECTURES="$capability" > /dev/null
cmake --build --preset cuda -j "$(nproc)" \
  --target heed heed_{kernels,autograd,nn,golden,train}_tests > /dev/null
row card "$($build/heed --version | awk '$1 == "cuda" { $1 = ""; print }')"
row build "$SECONDS s"

export HEED_TEST_DEVICE=cuda  # no falling back to the CPU
for room in kernels autograd nn golden; do
  check "tests of $room, on the card" $build/tests/heed_${room}_tests
done
check "training and commands, on the card" $build/tests/heed_train_tests \
  --gtest_filter='*DeviceTraining*:*DeviceCommands*:Updater*:UpdateReport*'
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck; do
    check "compute-sanitizer, $tool" compute-sanitizer --tool $tool --error-exitcode 1 \
      $build/tests/heed_kernels_tests \
      --gtest_filter='*.Matches*:AttentionBf16.*:PrecisionTest.*:TopK.*:*.NothingPassesTheMask:ScatterAddRows.*'
  done
fi

# A training step of each kind of model, attention alone, and decoding.
presets=(attention gpt-medium transformer rnnsearch generate)
if "$python" -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
  timing=("$python" bench/compare_pytorch.py --heed $build/heed --python "$python" --device cuda --seconds 1 --rounds 1)
else
  timing=($build/heed bench --device cuda --seconds 1)
fi
for preset in "${presets[@]}"; do
  within_limit "${timing[@]}" "$preset" || { tail -5 "$log"; failed=1; }
  row "time: $preset" "$(tail -1 "$log")"
done
for precision in tf32 bf16; do
  within_limit $build/heed bench --device cuda --precision $precision --seconds 1 attention transformer || {
    tail -5 "$log"
    failed=1
  }
  while read -r line; do row "time: in $precision" "$line"; done < <(tail -2 "$log")
done
row "all of it" "$SECONDS s"

printf '\n'
printf '%s\n' "${rows[@]}"
exit $failed
