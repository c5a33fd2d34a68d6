"""What the traffic of a table gives cause to warn of: idle producers, huge transfers, busy receivers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hpplan.diagnostics import Diagnostic
from hpplan.wording import listed, plural
from hpplan.workload.codes import IDLE_PRODUCER, OVERLOADED_RECEIVER, OVERSIZED_TRANSFER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hpplan.diagnostics import Place
    from hpplan.routing.traffic import BatchTraffic, Traffic
    from hpplan.routing.transfers import BatchRoutes

LARGEST_TENSOR = 2**31 - 1
"""Elements of a tensor that a collective is given. Rows travel as uint8, so they are bytes."""

OVERLOAD = 2
"""How many times the mean a rank may receive."""


def check_traffic(traffic: Traffic, *, notes: bool = False) -> Iterator[Diagnostic]:
    """Yield warnings, at most one of a kind for each batch; with `notes`, also what is so and no fault."""
    workload = traffic.table.workload
    by_routes = {id(routes): number for number, (_, routes) in reversed([*enumerate(traffic.table.parents)])}
    for number in sorted(by_routes.values()):
        ranks, routes = traffic.table.parents[number]
        batch = workload.batches[number * traffic.table.mesh.pool if workload.per_replica else 0]
        for found in _idle(routes, ranks, batch.place.at("items" if batch.buckets is None else "buckets")):
            if notes or found.level != "info":
                yield found
        yield from _oversized(traffic, number, batch.place.at("items"))
        yield from _overloaded(traffic.batches[number], ranks, batch.place.at("items"))


def folded(warnings: Iterable[Diagnostic], where: str = "") -> list[Diagnostic]:
    """Return the first warning of each code, which says how many more there are."""
    by_code: dict[str, list[Diagnostic]] = {}
    for warning in warnings:
        by_code.setdefault(warning.code.id, []).append(warning)
    return [
        replace(first, message=f"{first.message} ({len(others):,} more of the kind{where})")
        if others
        else first
        for first, *others in by_code.values()
    ]


def _idle(routes: BatchRoutes, ranks: Sequence[int], place: Place) -> Iterator[Diagnostic]:
    group, size, producers = routes.size, routes.encoder_cp_size, len(routes.buckets)
    idle = [ranks[bucket * size] for bucket, items in enumerate(routes.buckets) if not items]
    items = sum(map(len, routes.buckets))
    if not idle or not items:
        return
    encode = "encodes" if len(idle) == 1 else "encode"
    found = Diagnostic(
        IDLE_PRODUCER,
        f"{plural(items, 'item')} for {plural(producers, 'producer')}, "
        f"and {listed('rank', idle)} {encode} none",
        place,
    )
    if items < producers:
        # No assignment could give each producer an item: that is so, and no fault.
        shared = next(one for one in range(size, group + 1) if group % one == 0 and group // one <= items)
        hint = f"with `encoder_cp_size: {shared}` all encode, where the encoder can share out an item"
        found = replace(found, hint=hint, severity="info")
    yield found


def _oversized(traffic: Traffic, number: int, place: Place) -> Iterator[Diagnostic]:
    batch, ranks = traffic.batches[number], traffic.table.parents[number].ranks
    # An all-gather is a broadcast for each producer; its gradients go back in one all-to-all.
    way = ("gets back", "sends back") if traffic.table.mode.reaches_all else ("sends", "receives")
    for does, rows in zip(way, (batch.sent_back, batch.received), strict=True):
        size = max(rows) * traffic.row_bytes
        if size > LARGEST_TENSOR:
            yield Diagnostic(
                OVERSIZED_TRANSFER,
                f"rank {ranks[rows.index(max(rows))]} {does} {size:,} bytes in one collective, "
                f"more than 2^31 - 1 = {LARGEST_TENSOR:,}",
                place,
            )
            return


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
