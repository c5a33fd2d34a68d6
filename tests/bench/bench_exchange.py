"""The exchange against the plain collective, the naive way, and HyperParallel's (DESIGN section 8)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from harness import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

    Times = dict[str, dict[str, list[float]]]

PAIRS = 21
SMALL = {20_000: "20 kB", 100_000: "100 kB", 1 << 20: "1 MiB", 4 << 20: "4 MiB"}
LARGE = 64 << 20


def measure() -> Iterator[Measurement]:
    """Yield medians over pairs: bytes sent a rank, bfloat16, gloo on one machine.

    The plain collective makes its output fresh, as torch's callers do. Into a
    kept output it is faster; that line goes beyond what DESIGN asks for.
    """
    for world in (2, 4):
        times = _run(world, LARGE, calls=1)
        for order, bound in (("in order", 1.05), ("not in order", 1.2)):
            for name, limit in (("plain", bound), ("plain, output kept", 1.5), ("naive", 0.6)):
                yield _ratio(times, order, "exchange", name, limit, f"{world} ranks, rows {order}")
        yield _ratio(times, "not in order", "exchange", "HyperParallel", 1.1, f"{world} ranks, 64 MiB")
        for size, text in SMALL.items():
            times = _run(world, size, calls=max(1, min(40, (4 << 20) // size)))
            for way in ("", ", backward too"):
                ours, theirs = f"exchange{way}", f"HyperParallel{way}"
                yield _ratio(times, "not in order", ours, theirs, 1.1, f"{world} ranks, {text}")


def _ratio(times: Times, order: str, ours: str, peer: str, bound: float, where: str) -> Measurement:
    pairs = zip(times[order][ours], times[order][peer], strict=True)
    return Measurement(f"{ours} / {peer}, {where}", bound, median(one / other for one, other in pairs))


def _run(world: int, size: int, calls: int) -> Times:
    rank_program = str(Path(__file__).with_name("exchange_rank.py"))
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder, "store"))
        settings = [str(number) for number in (world, size, PAIRS, calls)]
        ranks = [
            subprocess.Popen(
                [sys.executable, rank_program, store, str(rank), *settings],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(world)
        ]
        outputs = [rank.communicate()[0] for rank in ranks]
    times: Times = json.loads(outputs[0])
    return times
