#!/usr/bin/env bash
# Formatting, include directions and clang-tidy, over the whole project or the files named.
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# > 0)); then
  files=("$@")
else
  mapfile -t files < <(git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh')
fi

failed=0
clang-format --dry-run -Werror "${files[@]}" || failed=1
cmake/check_includes.sh || failed=1

cmake --preset debug -DHEED_BUILD_BENCH=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > /dev/null
# What the build compiles; the consumer project is not part of it, nor is device code.
compiled=()
for file in "${files[@]}"; do
  if [[ $file == *.cpp ]] && grep -q "/$file\"" build/debug/compile_commands.json; then
    compiled+=("$file")
  fi
done
if ((${#compiled[@]} > 0)); then
  printf '%s\0' "${compiled[@]}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/debug --quiet 2>&1 |
    sed '/ warnings\{0,1\} generated\.$/d' || failed=1
fi
exit $failed
