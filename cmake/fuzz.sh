#!/usr/bin/env bash
# Runs each fuzz target of build/fuzz for FUZZ_SECONDS (60), one after another, and says what was
# done. Inputs that reached something new stay in build/fuzz/corpus/NAME and are started from the next time;
# what was found stays in build/fuzz/findings and makes this fail.
#   cmake/fuzz.sh [NAME ...]      (every target when none is named)
set -euo pipefail
cd "$(dirname "$0")/../build/fuzz"

seconds=${FUZZ_SECONDS:-60}
names=("$@")
if ((${#names[@]} == 0)); then
  names=(fuzz/heed_fuzz_*)
  names=("${names[@]##*heed_fuzz_}")
fi
# A small quarantine: most of what a reader frees it allocated a moment ago.
export ASAN_OPTIONS=quarantine_size_mb=32
export UBSAN_OPTIONS=print_stacktrace=1

mkdir -p findings
failed=0
for name in "${names[@]}"; do
  program=fuzz/heed_fuzz_$name
  mkdir -p "corpus/$name"
  "$program" --seeds "corpus/$name"
  # Inputs are some kilobytes long, as the seeds are: none of them justifies this much memory.
  "$program" "corpus/$name" -dict="corpus/$name.dict" -max_total_time="$seconds" \
    -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -artifact_prefix="findings/$name-" \
    -print_final_stats=1 > "$name.log" 2>&1 && verdict=clean || { verdict=FINDING; failed=1; }
  runs=$(awk '/number_of_executed_units/ { print $2 }' "$name.log")
  printf '%-12s %10s executions  %s\n' "$name" "${runs:-0}" "$verdict"
  [[ $verdict == clean ]] || tail -n 30 "$name.log"
done
((failed == 0)) || echo "[fuzz] findings are in build/fuzz/findings; run a program on one to see it again" >&2
exit "$failed"
