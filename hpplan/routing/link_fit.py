"""The links of a cluster from measured times: exchanges of known bytes, and what explains their times best.

Within a node and between nodes, exchanges of several patterns and sizes are run. Their times are those of
`link_time`, in which all but two things are linear: how many ranks share a link, and how many of a node copy
at once. Each number of ranks that divides a node is tried; for each, latency, bandwidth and copies follow
from least squares of relative errors, and the numbers that leave the least error are taken.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.cluster import Cluster, LinkKind
from hpplan.routing.link_time import Loads, exchanges_of, rows_of
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.request import FASTEST, SLOWEST
from hpplan.routing.routes import plan_routes
from hpplan.workload.shape import DTYPES
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.routing.link_time import Copies
    from hpplan.routing.routes import RoutingTable

FEATURE_WIDTH = 1024
"""Columns of a row that is sent."""

Pattern = dict[int, list[tuple[tuple[int, ...], float]]]
"""What each rank of a parent sends: to which ranks, and what part of the bytes of a rank."""


class Timed(NamedTuple):
    """A table that was run, and the seconds that it took."""

    table: RoutingTable
    forward: float
    backward: float


def within_node(ranks: int) -> dict[str, Pattern]:
    """Return what ranks of a node send each other; one that has no peers sends nothing and keeps all."""
    everyone = tuple(range(ranks))
    keep: Pattern = {rank: [((rank,), 0.5), ((rank,), 0.5)] for rank in everyone}
    if ranks == 1:
        return {"keep": keep}
    return {
        "all to all": {rank: [((other,), 1 / ranks) for other in everyone] for rank in everyone},
        "one to all": {0: [((other,), 1 / (ranks - 1)) for other in everyone[1:]]},
        "to the next": {rank: [(((rank + 1) % ranks,), 1.0)] for rank in everyone},
        "records to all": {rank: [(everyone, 1 / ranks)] for rank in everyone},
        "keep": keep,
        "one keeps": {0: keep[0]},
    }


def between_nodes(nodes: int, ranks: int) -> dict[str, Pattern]:
    """Return what ranks send to the next node: all of them, those of the first node, and the first alone.

    Only the last tells whether ranks share a link. Each way by itself: gloo's one connection of two ranks
    carries one way at a time, and says nothing of the link.
    """
    everyone = range(nodes * ranks)

    def next_node(rank: int) -> list[int]:
        first = (rank // ranks + 1) % nodes * ranks
        return list(range(first, first + ranks))

    return {
        "all to the next": {rank: [((other,), 1 / ranks) for other in next_node(rank)] for rank in everyone},
        "first node": {rank: [((rank + ranks,), 1.0)] for rank in everyone[:ranks]},
        "first rank": {0: [((ranks,), 1.0)]},
        "records to the next": {rank: [(tuple(next_node(rank)), 1 / ranks)] for rank in everyone},
    }


def table_of(mesh: str, pattern: Pattern, size: int, dtype: str) -> RoutingTable:
    """Return the routes of a pattern in which a rank that sends all of its part sends so many bytes."""
    parsed = parse_mesh(mesh)
    row_bytes = FEATURE_WIDTH * DTYPES[dtype]
    items: list[dict[str, int]] = []
    destinations: dict[str, list[int]] = {}
    buckets: list[list[int]] = [[] for _ in range(parsed.parent_size)]
    token = 0
    for source, parts in pattern.items():
        for ranks, part in parts:
            rows = max(1, round(size * part / row_bytes))
            number = len(items)
            items.append(
                {"item_id": number, "batch_index": 0, "decoder_token_start": token, "output_rows": rows}
            )
            destinations[str(number)] = list(ranks)
            buckets[source].append(number)
            token += rows
    data = {
        "feature_width": FEATURE_WIDTH,
        "dtype": dtype,
        "sequence": {"length": token, "pad": True},
        "items": items,
        "buckets": buckets,
        "destinations": destinations,
    }
    return plan_routes(parsed, load_workload(data))


def fitted(within: Sequence[Timed], between: Sequence[Timed], ranks_per_node: int) -> Cluster:
    """Return the links that explain the times best; `between` is empty where there is one node."""
    near, copies, at_once = _within(within, ranks_per_node)
    told = None if at_once == ranks_per_node else at_once
    if not between:
        return Cluster(ranks_per_node, near, _speed(copies), copies_at_once=told)
    best: tuple[float, LinkKind] | None = None
    for shared in _divisors(ranks_per_node):
        lines, times, weights = [], [], []
        for loads, copied, seconds in _measured(between, ranks_per_node, 1, shared):
            lines.append([float(loads.far_peers), *map(float, max(loads.between))])
            times.append(seconds - loads.near_peers * near.latency / 1e6 - copied.counted(at_once) * copies)
            weights.append(1 / seconds)
        (latency, far, other), error = least_squares(lines, times, weights)
        if best is None or error < best[0]:
            two_way = _rounded(min(1.0, other / far)) if far else 0.0
            best = error, LinkKind(_speed(far), _rounded(latency * 1e6), shared, two_way)
    assert best is not None
    return Cluster(ranks_per_node, near, _speed(copies), best[1], told)


def _within(timed: Sequence[Timed], ranks_per_node: int) -> tuple[LinkKind, float, int]:
    """Return the links within a node, the seconds in which a rank copies a byte, and how many do at once."""
    best: tuple[float, LinkKind, float, int] | None = None
    for shared, at_once in product(_divisors(ranks_per_node), repeat=2):
        lines, times = [], []
        for loads, copied, seconds in _measured(timed, ranks_per_node, shared, 1):
            lines.append(
                [float(max(1, loads.near_peers)), float(max(loads.within)[0]), copied.counted(at_once)]
            )
            times.append(seconds)
        (latency, near, copies), error = least_squares(lines, times, [1 / one for one in times])
        if best is None or error < best[0]:
            # A rank without peers in its node has no link there: what it moves, it copies.
            speed = _speed(near if ranks_per_node > 1 else copies)
            best = error, LinkKind(speed, _rounded(latency * 1e6), shared), copies, at_once
    assert best is not None
    return best[1:]


def _measured(
    timed: Sequence[Timed], ranks_per_node: int, within: int, between: int
) -> Iterator[tuple[Loads, Copies, float]]:
    """Yield loads, bytes copied and seconds of each run, forward and backward."""
    for table, forward, backward in timed:
        rows = rows_of(table.workload)
        loads = Loads.of(exchanges_of(table), rows, ranks_per_node, within, between)
        for copies, seconds in ((loads.forward_copies, forward), (loads.backward_copies, backward)):
            if seconds:
                yield loads, copies, seconds


def least_squares(
    lines: Sequence[Sequence[float]], values: Sequence[float], weights: Sequence[float]
) -> tuple[list[float], float]:
    """Return the factors, none below zero, with which lines give values best, and the error that is left.

    Each line counts with its weight. The error is the sum of squares of weighted differences.
    """
    used = list(range(len(lines[0])))
    while True:
        found = _solved(
            [[line[at] * weight for at in used] for line, weight in zip(lines, weights, strict=True)],
            [value * weight for value, weight in zip(values, weights, strict=True)],
        )
        if all(factor >= 0 for factor in found):
            break
        used.pop(found.index(min(found)))
    factors = [0.0] * len(lines[0])
    for at, factor in zip(used, found, strict=True):
        factors[at] = factor
    error = 0.0
    for line, value, weight in zip(lines, values, weights, strict=True):
        told = sum(factor * one for factor, one in zip(factors, line, strict=True))
        error += ((told - value) * weight) ** 2
    return factors, error


def _solved(lines: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Solve the normal equations by elimination; a column that tells nothing gets a factor of zero."""
    size = len(lines[0])
    scale = [max((abs(line[at]) for line in lines), default=0.0) or 1.0 for at in range(size)]
    scaled = [[one / by for one, by in zip(line, scale, strict=True)] for line in lines]
    system = [
        [sum(line[row] * line[column] for line in scaled) for column in range(size)]
        + [sum(line[row] * value for line, value in zip(scaled, values, strict=True))]
        for row in range(size)
    ]
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(system[row][at]))
        system[at], system[pivot] = system[pivot], system[at]
        if abs(system[at][at]) < _NOTHING:
            system[at] = [float(column == at) for column in range(size)] + [0.0]
        head = system[at][at]
        system[at] = [one / head for one in system[at]]
        for row in range(size):
            if row != at:
                factor = system[row][at]
                system[row] = [one - factor * own for one, own in zip(system[row], system[at], strict=True)]
    return [system[at][size] / scale[at] for at in range(size)]


_NOTHING = 1e-12
"""A pivot of scaled equations below which a column depends on others, or is empty."""


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def _speed(seconds_a_byte: float) -> float:
    """Return GB/s, within what a document of links may say."""
    fastest = 1 / (FASTEST * 1e9)
    return _rounded(min(FASTEST, max(SLOWEST, 1 / max(seconds_a_byte, fastest) / 1e9)))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
