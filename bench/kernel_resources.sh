#!/usr/bin/env bash
# What ptxas says of kernels (nvcc -Xptxas -v), as a table: registers a thread at each capability, static shared
# memory, bytes spilt. No card is needed.
#   bench/kernel_resources.sh [FILE.cu ...]        kernels/cuda/attention*.cu unless named
#   ARCHITECTURES="75 80 90"  NVCC=nvcc
set -euo pipefail
cd "$(dirname "$0")/.."
read -ra architectures <<< "${ARCHITECTURES:-75 80 90}"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[[ $# -gt 0 ]] || set -- kernels/cuda/attention*.cu

# As cmake/HeedCuda.cmake has them compiled.
for file in "$@"; do
  for architecture in "${architectures[@]}"; do
    said=$("$nvcc" -std=c++20 -O3 --extended-lambda --expt-relaxed-constexpr -DFMT_USE_CONSTEXPR=1 -I. \
      -cubin -arch="sm_$architecture" -Xptxas -v "$file" -o /dev/null 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
    printf '%s\n' "$said"
  done
done | c++filt | awk -v asked="${architectures[*]}" '
  /Compiling entry function/ {
    kernel = substr($0, index($0, "heed::kernels::cuda::") + length("heed::kernels::cuda::"))
    sub(/\(.*/, "", kernel)
    match($NF, /[0-9]+/)
    architecture = substr($NF, RSTART, RLENGTH)
    if (!(kernel in spilt)) kernels[++count] = kernel
  }
  /bytes spill stores/ { spilt[kernel] += $5 + $9 }
  /Used [0-9]+ registers/ {
    registers[kernel, architecture] = $5
    if (match($0, /[0-9]+ bytes smem/)) shared[kernel] = substr($0, RSTART) + 0
  }
  END {
    n = split(asked, capabilities, " ")
    heading = "registers at"
    for (i = 1; i <= n; ++i) heading = heading (i > 1 ? " / " : " ") sprintf("%.1f", capabilities[i] / 10)
    print "| kernel | " heading " | static shared bytes | bytes spilt |"
    print "| --- | --- | --- | --- |"
    for (k = 1; k <= count; ++k) {
      kernel = kernels[k]
      line = ""
      for (i = 1; i <= n; ++i) line = line (i > 1 ? " / " : "") registers[kernel, capabilities[i]]
      print "| `" kernel "` | " line " | " shared[kernel] + 0 " | " spilt[kernel] " |"
    }
  }'
