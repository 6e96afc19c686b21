#!/usr/bin/env bash
# Trains the toy translator, scores it, translates a few sentences and shows an alignment.
set -euo pipefail
cd "$(dirname "$0")/.."

heed=build/release/heed
run=runs/toy_translator

$heed train examples/toy_translator.toml --run $run

echo
echo "Held-out sentences (heed evaluate $run):"
$heed evaluate $run

echo
echo "Translations (heed translate $run):"
$heed translate $run << 'SENTENCES'
the small cat sleeps .
i do not see the red house .
the girl who sings finds a beautiful flower .
SENTENCES

echo
echo "What the decoder looked at (heed translate $run --show-alignments):"
echo "these young girls do not often see the red house that julie draws ." |
  $heed translate $run --show-alignments --alignments $run/report/alignment.html

echo "Curves, samples and alignments to look at in a browser: $run/report/index.html"
