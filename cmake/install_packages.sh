#!/usr/bin/env bash
# Installs the Debian packages that are missing, and says which.
#   cmake/install_packages.sh [build] [tests] [fuzz] [emulated] [bench] [format]      (build when nothing is named)
set -euo pipefail

build=(build-essential cmake ninja-build ccache pkg-config libopenblas-dev libfmt-dev libspdlog-dev
       libhwy-dev nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libsentencepiece-dev
       libutf8proc-dev)
tests=(libgtest-dev libgmock-dev)
fuzz=(clang libclang-rt-dev)
emulated=(libboost-context-dev)
bench=(libbenchmark-dev)
format=(clang-format clang-tidy)

needed=()
for group in "${@:-build}"; do
  case "$group" in
    build | tests | fuzz | emulated | bench | format)
      declare -n packages="$group"
      needed+=("${packages[@]}")
      declare +n packages
      ;;
    *)
      echo "[packages] unknown group '$group': build, tests, fuzz, emulated, bench, format" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  echo "[packages] this is no Debian system, so nothing is installed here; heed needs: C++20" \
       "compiler, CMake 3.25, Ninja, pkg-config, OpenBLAS, fmt, spdlog, Highway, nlohmann-json," \
       "toml++, CLI11, SentencePiece, utf8proc; GoogleTest for the tests, Google Benchmark for" \
       "the benchmarks" >&2
  exit 0
fi

missing=()
for package in "${needed[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) || status=none
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo > /dev/null; then
    echo "[packages] missing, and there is no sudo to install them with; as root:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "[packages] installing ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }
apt update
apt install -y --no-install-recommends "${missing[@]}" > /dev/null
