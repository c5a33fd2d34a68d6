"""Measure DESIGN section 8: `python tests/bench/run.py [start passes …]`; without names, everything."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = tuple(
    sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
)

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        for measurement in import_module(f"bench_{name}").measure():
            sys.stdout.write(f"{measurement}\n")
            sys.stdout.flush()
