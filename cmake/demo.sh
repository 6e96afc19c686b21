#!/usr/bin/env bash
# Trains the toy translator, translates a few sentences with it and draws an alignment.
set -euo pipefail
cd "$(dirname "$0")/.."

heed=build/release/heed
run=runs/toy_translator

$heed train examples/toy_translator.toml --run $run

echo
echo "Translations by the trained run, with alignments (heed translate $run):"
$heed translate $run --alignments $run/report/demo.html << 'SENTENCES'
the small cat sleeps .
i do not see the red house .
the girl who sings loves the old man .
SENTENCES

echo
echo "Alignments to look at in a browser: $run/report/demo.html"
