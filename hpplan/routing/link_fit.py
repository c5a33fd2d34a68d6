"""The links of a cluster from measured times: exchanges of known bytes, and what explains their times best.

Within a node and between nodes, exchanges of several patterns and sizes are run. Their times are those of
`link_time`, in which all but three things are linear: how many ranks share a link, what one rank alone gets
of it, and how many of a node copy at once. Each number of ranks that divides a node is tried; for each,
latency, bandwidth and copies follow from least squares of relative errors, and what one rank gets from the
runs in which one rank alone sends or receives. The numbers that leave the least error are taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.routing.cluster import Carried, Cluster, LinkKind
from hpplan.routing.link_time import Loads, rows_of, steps_of
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.request import FASTEST, SLOWEST
from hpplan.routing.routes import plan_routes
from hpplan.workload.shape import DTYPES
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.routing.link_time import Copies
    from hpplan.routing.routes import RoutingTable

FEATURE_WIDTH = 1024
"""Columns of a row that is sent."""

Pattern = dict[int, list[tuple[tuple[int, ...], float]]]
"""What each rank of a parent sends: to which ranks, and how many times the bytes of a rank."""


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
        "one to all": {0: [((other,), 1.0) for other in everyone[1:]]},
        "half to half": {rank: [((rank + ranks // 2,), 2.0)] for rank in everyone[: ranks // 2]},
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
        "first rank": {0: [((ranks,), float(ranks))]},
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
    near, copy, at_once = _within(within, ranks_per_node)
    told = None if at_once == ranks_per_node else at_once

    def known(run: _Run) -> float:
        return run.near * near.latency / 1e6 + run.copies.counted(at_once) * copy

    far = _between(between, ranks_per_node, known) if between else None
    return Cluster(ranks_per_node, near, _speed(copy), far, told)


def _within(timed: Sequence[Timed], ranks_per_node: int) -> tuple[LinkKind, float, int]:
    """Return the links within a node, the seconds in which a rank copies a byte, and how many do at once."""
    counts = _divisors(ranks_per_node)
    tried: list[tuple[_Explained, int, int]] = []
    for shared in counts:
        runs = _runs(timed, ranks_per_node, shared, 1)
        found = [(_explained([_near(run, at_once) for run in runs]), shared, at_once) for at_once in counts]
        tried.append(min(found, key=lambda one: one[0].error))
    found, shared, at_once = _simplest(tried)
    latency, byte, copy = found.factors
    # A rank without peers in its node has no link there: what it moves, it copies.
    found = found._replace(factors=[latency, byte if ranks_per_node > 1 else copy, 0.0])
    return _link_kind(found, shared), copy, at_once


def _between(timed: Sequence[Timed], ranks_per_node: int, known: Callable[[_Run], float]) -> LinkKind:
    """Return the links between nodes; `known` is the part of the time that is not theirs."""
    tried = [
        (_explained([_far(run, known(run)) for run in _runs(timed, ranks_per_node, 1, shared)]), shared)
        for shared in _divisors(ranks_per_node)
    ]
    return _link_kind(*_simplest(tried))


def _simplest(tried: Sequence[Any]) -> Any:  # noqa: ANN401 - tuples that begin with what was explained
    """Return the last that leaves less of the error than those before it, where fewer ranks share a link."""
    best = tried[0]
    for one in tried[1:]:
        if one[0].error < _BETTER * best[0].error:
            best = one
    return best


def _link_kind(found: _Explained, shared: int) -> LinkKind:
    latency, byte, other = found.factors
    two_way = _rounded(min(1.0, other / byte)) if byte else 0.0
    of_rank = None if found.of_rank is None else _speed(found.of_rank)
    return LinkKind(_speed(byte), _rounded(latency * 1e6), shared, two_way, of_rank)


class _Run(NamedTuple):
    """What a run asked of links and ranks, and the seconds that it took."""

    near: int
    """Peers in the node; at least one, so that what a collective costs at least is in their latency."""
    far: int
    within: Carried
    between: Carried
    copies: Copies
    seconds: float


def _runs(timed: Sequence[Timed], ranks_per_node: int, within: int, between: int) -> list[_Run]:
    """Return each run, forward and backward, where so many ranks share a link of either kind."""
    found = []
    for table, forward, backward in timed:
        loads = Loads.of(steps_of(table)[0], rows_of(table.workload), ranks_per_node, within, between)
        shared = (max(1, loads.near_peers), loads.far_peers, loads.within, loads.between)
        found += [
            _Run(*shared, copies, seconds)
            for copies, seconds in ((loads.forward_copies, forward), (loads.backward_copies, backward))
            if seconds
        ]
    return found


def _near(run: _Run, at_once: int) -> _Line:
    values = [float(run.near), float(run.within.most), run.copies.counted(at_once)]
    return _Line(values, run.within, run.seconds, run.seconds)


def _far(run: _Run, known: float) -> _Line:
    values = [float(run.far), float(run.between.most), float(run.between.least)]
    return _Line(values, run.between, run.seconds - known, run.seconds)


class _Line(NamedTuple):
    """One equation: the second factor is the seconds in which a link carries a byte."""

    values: list[float]
    carried: Carried
    seconds: float
    whole: float
    """Seconds of the whole run, of which the error is a part."""

    @property
    def alone(self) -> bool:
        """Whether one rank sends or receives all that a link carries."""
        return 0 < self.carried.most == self.carried.of_rank


class _Explained(NamedTuple):
    """Factors, the seconds in which one rank alone moves a byte where that is longer, and the error left."""

    factors: list[float]
    of_rank: float | None
    error: float


def _explained(lines: Sequence[_Line]) -> _Explained:
    """Explain the times by links that are alike for all, or that one rank alone does not fill."""
    plain = _Explained(_solved_for(lines), None, 0.0)
    plain = plain._replace(error=_error(lines, plain))
    alone = [line for line in lines if line.alone]
    others = [line for line in lines if not line.alone and line.carried.most]
    if not alone or not others:
        return plain
    factors = _solved_for([line for line in lines if not line.alone])
    left = [
        line._replace(
            values=[float(line.carried.of_rank)],
            seconds=line.seconds - _told(line, [factors[0], 0.0, factors[2]]),
        )
        for line in alone
    ]
    (of_rank,) = _solved_for(left)
    limited = _Explained(factors, of_rank, 0.0)
    limited = limited._replace(error=_error(lines, limited))
    slower = of_rank * _SLOWER > factors[1]
    return limited if slower and limited.error < _CLEARER * plain.error else plain


def _solved_for(lines: Sequence[_Line]) -> list[float]:
    return least_squares(
        [line.values for line in lines], [line.seconds for line in lines], [1 / line.whole for line in lines]
    )


def _told(line: _Line, factors: Sequence[float]) -> float:
    return sum(factor * value for factor, value in zip(factors, line.values, strict=True))


def _error(lines: Sequence[_Line], found: _Explained) -> float:
    """Return the sum of squares of relative errors; what is left of one in a thousand tells nothing."""
    error = len(lines) * _EXACT**2
    for line in lines:
        link = line.values[1] * found.factors[1]
        slower = max(link, line.carried.of_rank * (found.of_rank or 0.0)) - link
        error += ((_told(line, found.factors) + slower - line.seconds) / line.whole) ** 2
    return error


_BETTER = 0.9
"""How much less of the error must be left for links that take more to describe."""

_CLEARER = 0.98
"""The same for what one rank alone gets, of which few runs tell."""

_EXACT = 1e-3

_SLOWER = 0.9
"""What part of a link's speed one rank alone has at the most, to be told."""


def least_squares(
    lines: Sequence[Sequence[float]], values: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Return the factors, none below zero, with which lines give values best; each counts with its weight."""
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
    return factors


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
