"""Ten thousand steps with changing batches: time and memory of a step stay what they were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

WORLD, BLOCKS, STEPS = 2, 20, 500
"""Ranks, and steps in each block that is timed."""
MEBIBYTE = 1 << 20


def measure() -> Iterator[Measurement]:
    """Yield how the last blocks compare with those after the first, which warms up."""
    ran = run()
    seconds, held = ran["seconds"], ran["held"]
    grown = (held[-1][0] - held[1][0]) / MEBIBYTE
    count = f"{BLOCKS * STEPS:,} steps"
    yield Measurement(
        f"{count}, each with another batch: a late step / an early one",
        1.1,
        median(seconds[-5:]) / median(seconds[1:6]),
    )
    yield Measurement(f"memory that a rank has after {count}, and not before", 8.0, grown, "MiB")


def run() -> dict[str, Any]:
    """Return seconds by block, and what rank 0 held after each."""
    program = str(Path(__file__).with_name("steps_rank.py"))
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder, "store"))
        ranks = [
            subprocess.Popen(
                [sys.executable, program, store, str(rank), str(WORLD), str(BLOCKS), str(STEPS)],
                stdout=subprocess.PIPE,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(WORLD)
        ]
        outputs = [rank.communicate()[0] for rank in ranks]
    found: dict[str, Any] = json.loads(outputs[0])
    return found
