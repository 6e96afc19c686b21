#!/usr/bin/env python3
"""Times heed's presets against PyTorch on this machine, in alternation, and prints ratios.

    bench/compare_pytorch.py [--heed build/release/heed] [--python /usr/bin/python3 ...] [--device cuda] [PRESET ...]

Each --python names an interpreter that has PyTorch; several compare several versions. PyTorch runs
with one thread and with as many as heed, and the better counts. heed itself is built and tested
without Python.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

PRESETS = ["gpt-small", "gpt-medium", "rnnsearch", "transformer", "attention", "generate", "translate"]


def work(preset, threads, seconds, device):
    """In a process of its own: prints the version and the median seconds of a run."""
    import torch

    from pytorch_workloads import WORKLOADS

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if device != "cpu":
        torch.set_default_device(device)
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    step, _ = WORKLOADS[preset]()
    step()
    wait()
    times = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - start)
    print(json.dumps({"version": torch.__version__, "seconds": statistics.median(times)}))


def run_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def compare(preset, options):
    heed_seconds, share = [], []
    torch_seconds = {}  # (interpreter, threads) -> seconds of each round
    versions = {}
    for _ in range(options.rounds):
        where = ["--seconds", str(options.seconds), "--device", options.device]
        found = run_json([options.heed, "bench", preset, "--json", *where])
        heed_seconds.append(found["seconds_per_step"])
        share.append(found["share_of_peak"])
        counts = sorted({1, found["threads"]}) if options.device == "cpu" else [1]
        for python in options.python:
            for threads in counts:
                command = [python, __file__, "--work", preset, "--threads", str(threads)]
                result = run_json(command + where)
                versions[python] = result["version"]
                torch_seconds.setdefault((python, threads), []).append(result["seconds"])
    mine = statistics.median(heed_seconds)
    line = f"{preset:12} heed {1e3 * mine:9.1f} ms ({100 * statistics.median(share):3.0f}% of sgemm)"
    for python in options.python:
        times, threads = min(
            (statistics.median(torch_seconds[python, threads]), threads) for threads in counts
        )
        line += f"   PyTorch {versions[python]} {1e3 * times:9.1f} ms on {threads}: {times / mine:5.2f} x"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", metavar="PRESET", default=PRESETS)
    parser.add_argument("--heed", default="build/release/heed")
    parser.add_argument("--python", action="append", metavar="INTERPRETER")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement, about")
    parser.add_argument("--rounds", type=int, default=3, help="of heed, PyTorch, heed, ...")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--work", metavar="PRESET", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.threads, options.seconds, options.device)
        return
    options.python = options.python or [sys.executable]
    options.heed = str(pathlib.Path(options.heed))
    for preset in options.presets:
        compare(preset, options)


if __name__ == "__main__":
    main()
