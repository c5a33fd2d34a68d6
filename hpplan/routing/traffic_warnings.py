"""What the traffic of a table gives cause to warn of: idle producers, huge transfers, busy receivers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hpplan.diagnostics import Diagnostic
from hpplan.routing.cells import ranges_of
from hpplan.routing.wording import listed, plural
from hpplan.routing.workload_codes import IDLE_PRODUCER, OVERLOADED_RECEIVER, OVERSIZED_TRANSFER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.diagnostics import Place
    from hpplan.routing.traffic import BatchTraffic, Traffic
    from hpplan.routing.transfers import BatchRoutes

LARGEST_TRANSFER = 2**31 - 1
"""Elements."""

OVERLOAD = 2
"""How many times the mean a rank may receive."""


def check_traffic(traffic: Traffic) -> Iterator[Diagnostic]:
    """Yield warnings, at most one of a kind for each batch."""
    workload = traffic.table.workload
    by_routes = {id(routes): number for number, (_, routes) in reversed([*enumerate(traffic.table.parents)])}
    for number in sorted(by_routes.values()):
        ranks, routes = traffic.table.parents[number]
        batch = workload.batches[number if workload.per_replica else 0]
        yield from _idle(routes, ranks, batch.place.at("items" if batch.buckets is None else "buckets"))
        yield from _oversized(routes, ranks, workload.row_elements, batch.place.at("items"))
        yield from _overloaded(traffic.batches[number], ranks, batch.place.at("items"))


def _idle(routes: BatchRoutes, ranks: Sequence[int], place: Place) -> Iterator[Diagnostic]:
    idle = [
        ranks[bucket * routes.encoder_cp_size] for bucket, items in enumerate(routes.buckets) if not items
    ]
    items = sum(map(len, routes.buckets))
    if idle and items >= len(routes.buckets):
        encode = "encodes" if len(idle) == 1 else "encode"
        yield Diagnostic(
            IDLE_PRODUCER,
            f"{plural(items, 'item')} for {plural(len(routes.buckets), 'producer')}, "
            f"and {listed('rank', idle)} {encode} none",
            place,
        )


def _oversized(
    routes: BatchRoutes, ranks: Sequence[int], elements: int, place: Place
) -> Iterator[Diagnostic]:
    # A pair moves no more than the source produces.
    suspects = {
        bucket * routes.encoder_cp_size
        for bucket, items in enumerate(routes.buckets)
        if sum(item.rows for item in items) * elements > LARGEST_TRANSFER
    }
    if not suspects:
        return
    most, source, to = _largest_pair(routes, suspects)
    if most * elements > LARGEST_TRANSFER:
        yield Diagnostic(
            OVERSIZED_TRANSFER,
            f"rank {ranks[source]} sends {most * elements:,} elements to rank {ranks[to]}, "
            f"more than 2^31 - 1 = {LARGEST_TRANSFER:,}",
            place,
        )


def _largest_pair(routes: BatchRoutes, sources: set[int]) -> tuple[int, int, int]:
    """Return the most rows that one of some parent ranks sends to another, the first such pair."""
    steps: dict[int, dict[int, int]] = {source: {} for source in sorted(sources)}
    for (source, first, width, blocks), rows in routes.totals.cells.items():
        if source in steps:
            line = steps[source]
            for ranks in ranges_of(first, width, blocks, routes.stride):
                line[ranks.start] = line.get(ranks.start, 0) + rows
                line[ranks.stop] = line.get(ranks.stop, 0) - rows
    best = (0, 0, 0)
    for source, line in steps.items():
        rows = 0
        for first, stop in pairwise(sorted(line)):
            rows += line[first]
            # What a rank keeps is no transfer.
            to = first + (first == source)
            if rows > best[0] and to < stop:
                best = (rows, source, to)
    return best


def _overloaded(batch: BatchTraffic, ranks: Sequence[int], place: Place) -> Iterator[Diagnostic]:
    most = max(batch.received)
    total = sum(batch.received)
    if most * len(batch.received) > OVERLOAD * total:
        yield Diagnostic(
            OVERLOADED_RECEIVER,
            f"rank {ranks[batch.received.index(most)]} receives {plural(most, 'row')} from others, "
            f"{most * len(batch.received) / total:.1f} times the mean",
            place,
        )
