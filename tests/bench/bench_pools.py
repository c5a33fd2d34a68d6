"""Replicas that share the encoder work: planning, and the exchange against the way of other trainers."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Measurement, seconds

from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_rank_exchange
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = 21
WORLD = 4


def measure() -> Iterator[Measurement]:
    """Yield the time of one rank's plan in a large pool, and the ratio of both exchanges on four ranks."""
    workload = load_workload(_large(64, 62))
    mesh = parse_mesh("dp=64,cp=2,tp=4,sp")
    planned = median(seconds(lambda: plan_rank_exchange(mesh, workload, 37)) for _ in range(9))
    yield Measurement("plan one rank of a pool: 4,000 items, 512 ranks", 20.0, 1e3 * planned, "ms")
    times = _run()
    ratios = [ours / theirs for ours, theirs in zip(times["hpplan"], times["others"], strict=True)]
    yield Measurement("inputs and features of 4 replicas / the way of others", 0.7, median(ratios))


def _large(replicas: int, each: int) -> dict[str, Any]:
    draw = random.Random(0)  # noqa: S311 - benchmark data
    ids = iter(range(replicas * each))
    batches = [
        {
            "items": [
                {
                    "item_id": next(ids),
                    "batch_index": row,
                    "decoder_token_start": draw.randint(0, 100),
                    "output_rows": draw.randint(64, 1024),
                    "input_rows": 4096,
                }
                for row in range(each)
            ]
        }
        for _ in range(replicas)
    ]
    sequence = {"length": 16_384, "cp_layout": "zigzag"}
    return {"encoder_pool": "all", "input_width": 1536, "sequence": sequence, "replicas": batches}


def _run() -> dict[str, list[float]]:
    program = str(Path(__file__).with_name("pools_rank.py"))
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder, "store"))
        ranks = [
            subprocess.Popen(
                [sys.executable, program, store, str(rank), str(WORLD), str(PAIRS)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(WORLD)
        ]
        outputs = [rank.communicate()[0] for rank in ranks]
    times: dict[str, list[float]] = json.loads(outputs[0])
    return times
