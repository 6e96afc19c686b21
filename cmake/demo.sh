#!/usr/bin/env bash
# Trains the toy translator, translates a few sentences with it and draws an alignment.
set -euo pipefail
cd "$(dirname "$0")/.."

heed=build/release/heed
run=runs/toy_translator

$heed train examples/toy_translator.toml --run $run

echo
echo "A few sentences, translated by the trained run:"
$heed translate $run --alignments $run/report/demo.html << 'SENTENCES'
the small cat sleeps .
the girl who sings sees a young king .
when the dogs run , my sad cow does not sleep .
SENTENCES

echo
echo "Which source words each target word attended to:"
echo "i do not see the red house ." | $heed translate $run --show-alignments

echo
echo "The same for the others, to open in a browser: $run/report/demo.html"
echo "How training went:                             $run/report/index.html"
echo "Translate your own:                            $heed translate $run"
