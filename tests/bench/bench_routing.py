"""How long routing takes, and in how much memory (DESIGN section 8, rows 6 and 7)."""

from __future__ import annotations

import random
import subprocess
import sys
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from harness import Measurement, seconds

from hpplan.diagnostics import Place
from hpplan.reports.route.text import render
from hpplan.reports.route.view import RouteView
from hpplan.reports.terminal.screen import Screen
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_rank, plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 1_000_000
ONE_PARENT = "cp=8192,tp=8,sp"
SMALL = "cp=8,tp=8,sp"
MANY_REPLICAS = "dp=1024,cp=8,tp=8,sp"
ALIKE = ("dp=1024,cp=8,tp=8,sp", "dp=256,cp=16,tp=16", "dp=4,cp=128,tp=128,sp", "cp=32768,tp=2,sp")
"""Meshes whose replicas all run the same million items, on a sequence that is short for their ranks."""


def items(count: int, length: int, seed: int) -> list[dict[str, int]]:
    """Return images of 64 to 1,200 rows, with text between them, batch row after batch row."""
    draw = random.Random(seed)  # noqa: S311 - sizes of images, no secrets
    found: list[dict[str, int]] = []
    token = batch_index = 0
    for item_id in range(count):
        rows = draw.randint(64, 1200)
        token += draw.randint(1, 50)
        if token + rows > length:
            token, batch_index = 0, batch_index + 1
        found.append(
            {
                "item_id": item_id,
                "batch_index": batch_index,
                "decoder_token_start": token,
                "output_rows": rows,
            }
        )
        token += rows
    return found


def alike(count: int) -> dict[str, Any]:
    """Return a workload of `count` items that all replicas share."""
    sequence = {"length": 65_536, "cp_layout": "zigzag"}
    return {"feature_width": 2048, "payloads": 4, "sequence": sequence, "items": items(count, 65_536, 0)}


def workload(count: int, mesh: str) -> dict[str, Any]:
    """Return a workload of `count` items, for one replica or shared out to many."""
    replicas = parse_mesh(mesh).dp
    length = 131_072 if replicas > 1 else 128 * parse_mesh(mesh).parent_size
    data: dict[str, Any] = {
        "feature_width": 2048,
        "payloads": 4,
        "sequence": {"length": length, "cp_layout": "zigzag"},
    }
    if replicas > 1:
        data["replicas"] = [{"items": items(count // replicas, length, seed)} for seed in range(replicas)]
    else:
        data["items"] = items(count, length, 0)
    return data


def summarize(data: dict[str, Any], mesh: str) -> str:
    """Load, plan and render the summary of a workload."""
    table = plan_routes(parse_mesh(mesh), load_workload(data, Place("workload")))
    return render(RouteView(table, "lpt", ranks_per_node=8), Screen())


def measure_alone(mesh: str, *flags: str) -> tuple[float, float]:
    """Return seconds and peak memory in GiB of the large summary, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, mesh, *flags], capture_output=True, check=True, text=True, timeout=600
    )
    time, memory = done.stdout.split()
    return float(time), float(memory)


def measure() -> Iterator[Measurement]:
    """Yield the large summaries, how time grows with items, and the plan of one micro-batch."""
    for mesh in (ONE_PARENT, MANY_REPLICAS):
        time, memory = measure_alone(mesh)
        yield Measurement(f"summary of {LARGE:,} items over 65,536 ranks, {mesh}", 60, time, "s")
        yield Measurement("its peak memory", 4, memory, "GiB")
        if mesh == ONE_PARENT:
            few = workload(10_000, mesh)
            each = median(seconds(lambda: summarize(few, ONE_PARENT)) for _ in range(3)) / 10_000  # noqa: B023 - called at once
            yield Measurement(f"time an item, {LARGE:,} items / 10,000 items", 1.5, time / LARGE / each)
    for mesh in ALIKE:
        time, memory = measure_alone(mesh, "alike")
        yield Measurement(f"summary of {LARGE:,} items that replicas share, {mesh}", 60, time, "s")
        yield Measurement("its peak memory", 4, memory, "GiB")
    for mesh in (SMALL, "cp=8,tp=8", "tp=64"):
        data = workload(1000, mesh)
        loaded = load_workload(data, Place("workload"))
        plan = median(seconds(lambda: plan_rank(parse_mesh(mesh), loaded, 9)) for _ in range(15))  # noqa: B023 - called at once
        yield Measurement(f"one micro-batch for one rank: 1,000 items, 64 ranks, {mesh}", 5, plan * 1e3, "ms")
        if mesh == SMALL:
            load = median(seconds(lambda: load_workload(data, Place("workload"))) for _ in range(15))  # noqa: B023 - the same
            yield Measurement("the same with checking the items", 5, (plan + load) * 1e3, "ms")


if __name__ == "__main__":
    import resource

    large = alike(LARGE) if "alike" in sys.argv else workload(LARGE, sys.argv[1])
    start = perf_counter()
    summarize(large, sys.argv[1])
    taken = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write(f"{taken} {peak}\n")
