"""Times predicted from measured links against times measured, and bytes (DESIGN section 11.2)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from harness import Measurement
from link_routes import tables

from hpplan import load_links
from hpplan.routing.link_time import predict
from hpplan.routing.traffic import Traffic

sys.path.append(str(Path(__file__).parents[1] / "helpers"))
from emulated import missing, two_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALONE = str(Path(__file__).with_name("links_rank.py"))


class Place(NamedTuple):
    """Where routes run: how a worker is started there, the part of the width, and the number of rounds."""

    name: str
    run: Callable[..., object]
    part: int
    rounds: int


def _one_node(*worker: str) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4"]
    subprocess.run([*torchrun, *worker], capture_output=True, check=True)


PLACES = (
    Place("one node of four ranks", _one_node, 1, 3),
    Place("two nodes of two ranks, 1 Gbit/s", lambda *worker: two_nodes("1gbit", *worker), 2, 2),
    Place("two nodes of two ranks, 200 Mbit/s", lambda *worker: two_nodes("200mbit", *worker), 4, 2),
)
MEDIAN, WORST = 15.0, 30.0
"""Percent."""


def measure() -> Iterator[Measurement]:
    """Yield errors in percent of the measured time, of all routes forward and backward, of each place."""
    lacking = missing()
    if lacking:
        sys.stderr.write(f"links between nodes are not measured: the rig needs {lacking}\n")
    for place in PLACES[: 1 if lacking else len(PLACES)]:
        yield from _at(place)


def _at(place: Place) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        links, times = str(Path(folder, "links.yaml")), str(Path(folder, "times.json"))
        place.run("-m", "hpplan", "exec", "--calibrate", "-o", links)
        place.run(ALONE, str(place.part), str(place.rounds), times)
        cluster = load_links(links)
        measured = json.loads(Path(times).read_text(encoding="utf-8"))
        sys.stderr.write(Path(links).read_text(encoding="utf-8"))
    errors: list[float] = []
    others = 0
    for name, table in tables(place.part):
        found = measured[name]
        traffic = Traffic(table)
        others += {traffic.rows_leaving * traffic.row_bytes} != set(found["bytes"])
        for way, predicted in zip(("forward", "backward"), predict(table, cluster), strict=True):
            errors.append(100 * abs(predicted / found[way] - 1))
            sys.stderr.write(
                f"  {name:<60} {way:<8} {1e3 * found[way]:7.1f} ms, predicted {1e3 * predicted:7.1f} ms\n"
            )
    yield Measurement(f"error of predicted times, median, {place.name}", MEDIAN, median(errors), "%")
    yield Measurement(f"error of predicted times, worst, {place.name}", WORST, max(errors), "%")
    yield Measurement(f"routes whose bytes are not those predicted, {place.name}", 0, others, "")
