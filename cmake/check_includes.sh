#!/usr/bin/env bash
# Includes point down only, sources stay short, and no #ifdef for CUDA stands outside kernels/.
# Lists every line that breaks a rule and exits 1 when there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh' |
                     while read -r file; do [[ -f $file ]] && echo "$file"; done)
if ((${#files[@]} == 0)); then
  echo "no sources found: is this a git clone?" >&2
  exit 1
fi

awk '
  BEGIN {
    below["core"]     = "core"
    below["kernels"]  = "core kernels"
    below["autograd"] = "core kernels autograd"
    below["nn"]       = "core kernels autograd nn"
    below["data"]     = "core data"
    below["train"]    = "core kernels autograd nn data train"
    below["bench"]    = "core kernels autograd nn data train bench"
    below["examples"] = "core kernels autograd nn data train"
    most = 500
  }
  function broken(text) { print FILENAME ":" FNR ": " text; failed = 1 }
  FNR == 1 { split(FILENAME, part, "/"); room = part[1] }
  /^[ \t]*#[ \t]*include[ \t]*"/ && room in below {
    split($0, quoted, "\"")
    split(quoted[2], path, "/")
    if (!(path[1] in below)) {
      broken("\"" quoted[2] "\" does not start at a room")
    } else if (index(" " below[room] " ", " " path[1] " ") == 0) {
      broken(room " may not include " quoted[2] " (it stands on: " below[room] ")")
    }
  }
  /^[ \t]*#[ \t]*(if|elif).*(CUDA|__NVCC__)/ && room in below && room != "kernels" {
    broken("#if for CUDA outside kernels/")
  }
  FNR == most + 1 { broken("longer than " most " lines: split it by topic") }
  END { exit failed }
' "${files[@]}"
