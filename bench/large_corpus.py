#!/usr/bin/env python3
"""Writes a made-up text of SIZE bytes, or with --pairs a TSV file of SIZE sentence pairs.

    bench/large_corpus.py 1000000000 > text.txt
    bench/large_corpus.py --pairs 10000000 > pairs.tsv

Words of a vocabulary of 20,000 are drawn about as Zipf has them, always the same ones. A target is
its source with every word spelt backwards.
"""
import argparse
import random
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--pairs", action="store_true")
parser.add_argument("size", type=int)
options = parser.parse_args()

draw = random.Random(1)
syllables = [c + v for c in "bcdfglmnprstv" for v in "aeiou" + "é"]
words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(20000)]
weights = [1 / (rank + 5) for rank in range(len(words))]
least, most = (2, 9) if options.pairs else (4, 24)
left = options.size
while left > 0:
    drawn = iter(draw.choices(words, weights, k=200000))
    lines = []
    while sentence := [word for word, _ in zip(drawn, range(draw.randint(least, most)))]:
        line = " ".join(sentence) + " ."
        if options.pairs:
            line += "\t" + " ".join(word[::-1] for word in sentence) + " ."
        lines.append(line + "\n")
    if options.pairs:
        part = "".join(lines[:left]).encode()
        left -= len(lines)
    else:
        whole = "".join(lines).encode()[:left]
        left -= len(whole)
        part = whole.decode(errors="ignore").encode()  # no half of a character at the end
    sys.stdout.buffer.write(part)
