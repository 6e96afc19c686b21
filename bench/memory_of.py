#!/usr/bin/env python3
"""Runs a command and says at its end how much memory it had at most, and what time it took.

    bench/memory_of.py build/release/heed train config.toml

Anonymous memory is what a program holds by itself; the high-water mark counts its code and
libraries too.
"""
import re
import resource
import subprocess
import sys
import time

start = time.monotonic()
process = subprocess.Popen(sys.argv[1:])
anonymous = high_water = 0
while process.poll() is None:
    try:
        with open(f"/proc/{process.pid}/status") as status:
            fields = dict(re.findall(r"(RssAnon|VmHWM):\s+(\d+)", status.read()))
    except OSError:
        fields = {}
    anonymous = max(anonymous, int(fields.get("RssAnon", 0)))
    high_water = max(high_water, int(fields.get("VmHWM", 0)))
    time.sleep(0.02)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"anonymous memory {anonymous / 1024:.0f} MiB, high-water mark {high_water / 1024:.0f} MiB, "
      f"{time.monotonic() - start:.1f} s, of the processor {used.ru_utime + used.ru_stime:.1f} s",
      file=sys.stderr)
sys.exit(process.returncode)
