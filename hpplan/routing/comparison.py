"""Three ways to move the same features, side by side, and which of them is the fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.routing.cells import ranges_of
from hpplan.routing.traffic import Link, pattern_of
from hpplan.routing.transfers import BatchRoutes
from hpplan.routing.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.transfers import Granularity

Move = tuple[int, int, int]
"""Source and destination, both global ranks, and rows."""


class Links(NamedTuple):
    """What the ranks are connected with.

    A rank moves what stays in its node and what leaves it one after the other:
    with the same bandwidth for both, a node makes no difference to the time.
    """

    link: Link | None = None
    """Of a rank to ranks of other nodes."""
    ranks_per_node: int | None = None
    node_bandwidth: float | None = None
    """GB/s of a rank to ranks of its node, each way; None: that of `link`."""


class Step(NamedTuple):
    """One collective: rows that leave their rank, their node, and what its busiest rank has to move."""

    rows: int
    rows_between_nodes: int
    busiest_rows: int
    """The most rows that one rank sends or receives."""
    seconds: float | None


@dataclass(frozen=True)
class Way:
    """One way to move the features, in one collective or several."""

    name: str
    summary: str
    steps: tuple[Step, ...]

    @property
    def rows(self) -> int:
        """Rows that leave their rank."""
        return sum(step.rows for step in self.steps)

    @property
    def rows_between_nodes(self) -> int:
        """Rows that leave their node."""
        return sum(step.rows_between_nodes for step in self.steps)

    @property
    def busiest_rows(self) -> int:
        """Rows of the busiest rank of each step, added up."""
        return sum(step.busiest_rows for step in self.steps)

    @property
    def seconds(self) -> float | None:
        """The estimated time of all steps; None where no link is given."""
        found = [step.seconds for step in self.steps if step.seconds is not None]
        return sum(found) if found else None


@dataclass(frozen=True)
class Comparison:
    """The ways that a mesh has, and the one to take."""

    ways: tuple[Way, ...]
    links: Links
    row_bytes: int
    incomplete: tuple[int, ...] = ()
    """Ids of items of which only `record` brings all rows to their explicit destinations."""

    @property
    def best(self) -> Way:
        """The way to take: `record` where only that is complete.

        Otherwise the least time, or without a link the least rows of busiest ranks; then the least
        rows; then the simplest.
        """
        if self.incomplete:
            return self.ways[0]
        if self.links.link is not None:
            return min(self.ways, key=lambda way: (way.seconds or 0.0, way.rows))
        return min(self.ways, key=lambda way: (way.busiest_rows, way.rows))

    @property
    def reason(self) -> str:
        """Say why the best is the best."""
        if self.incomplete:
            return f"the ways are not equivalent: {leaves_out(self.incomplete)}"
        best = self.best
        by_time = self.links.link is not None
        others = [way for way in self.ways if way is not best]
        same = [way for way in others if (way.seconds, way.rows) == (best.seconds, best.rows)]
        if len(same) == len(others):
            return "all ways move the same rows, and it is the simplest"
        if by_time:
            return "it takes the least estimated time"
        return "its busiest ranks move the fewest rows"

    def to_data(self) -> dict[str, Any]:
        """Return the comparison as a document."""
        link = self.links.link
        return {
            "link": None if link is None else link._asdict(),
            "ranks_per_node": self.links.ranks_per_node,
            "node_bandwidth": self.links.node_bandwidth,
            "ways": [
                {
                    "name": way.name,
                    "summary": way.summary,
                    "collectives": len(way.steps),
                    "rows": way.rows,
                    "bytes": way.rows * self.row_bytes,
                    "rows_between_nodes": way.rows_between_nodes if self.links.ranks_per_node else None,
                    "busiest_rank_rows": way.busiest_rows,
                    "busiest_rank_bytes": way.busiest_rows * self.row_bytes,
                    "seconds": way.seconds,
                }
                for way in self.ways
            ],
            "row_leaves_out_items": list(self.incomplete),
            "take": self.best.name,
            "reason": self.reason,
        }


def compare(table: RoutingTable, links: Links) -> Comparison:
    """Compare the ways to move the features of a table, with its buckets and destinations.

    Where cp and tp are above 1 without sp, TP ranks hold copies. Then there is
    a third way, `cp-once`: each owned row goes to one rank of its CP
    coordinate, the one with the tp coordinate of its source, and the TP groups
    gather it. It is left out where destinations are explicit.
    """
    record, row = _Group(table, "record", links), _Group(table, "row", links)
    ways = [
        Way("record", "whole records to every owner", (record.step(_direct),)),
        Way("row", "owned rows to every owner", (row.step(_direct),)),
    ]
    mesh = table.mesh
    explicit = any(parent.routes.explicit for parent in table.parents)
    if mesh.cp > 1 and mesh.tp > 1 and not mesh.sp and not explicit:
        summary = "owned rows once to each CP coordinate, then an all-gather in its TP group"
        ways.append(Way("cp-once", summary, (row.step(_once), row.step(_gather))))
    return Comparison(tuple(ways), links, table.workload.row_bytes, records_needed(table))


def records_needed(table: RoutingTable) -> tuple[int, ...]:
    """Return the ids of items that row granularity would cut short, of all parents, ascending."""
    known = {id(routes): routes for _, routes in table.parents}
    return tuple(sorted({item for routes in known.values() for item in routes.records_needed}))


def leaves_out(items: Sequence[int]) -> str:
    """Say what row granularity does to items with explicit destinations that are not their owners."""
    return f"row granularity leaves out rows of {listed('item', items)} that explicit destinations ask for"


class _Group:
    """The parents of a table in one granularity. Parents that do the same are looked at once."""

    def __init__(self, table: RoutingTable, granularity: Granularity, links: Links) -> None:
        self._links = links
        self._row_bytes = table.workload.row_bytes
        self.tp = table.mesh.tp
        made: dict[int, BatchRoutes] = {}
        self._parents: list[tuple[tuple[int, ...], BatchRoutes]] = []
        self._times: list[int] = []
        at: dict[tuple[int, tuple[int, ...]], int] = {}
        for ranks, routes in table.parents:
            # What a parent moves between nodes depends on how nodes cut it.
            nodes = () if links.ranks_per_node is None else pattern_of(ranks, links.ranks_per_node)
            key = (id(routes), nodes)
            if key in at:
                self._times[at[key]] += 1
                continue
            if id(routes) not in made:
                made[id(routes)] = BatchRoutes(
                    routes.mode,
                    granularity,
                    routes.ownership,
                    routes.buckets,
                    routes.encoder_cp_size,
                    routes.explicit,
                )
            at[key] = len(self._parents)
            self._parents.append((ranks, made[id(routes)]))
            self._times.append(1)

    def step(self, moves: Callable[[tuple[int, ...], BatchRoutes, int], Iterator[Move]]) -> Step:
        """Add up one collective over all parents."""
        steps = [
            _step(moves(ranks, routes, self.tp), self._links, self._row_bytes)
            for ranks, routes in self._parents
        ]
        seconds = [step.seconds for step in steps if step.seconds is not None]
        return Step(
            sum(step.rows * times for step, times in zip(steps, self._times, strict=True)),
            sum(step.rows_between_nodes * times for step, times in zip(steps, self._times, strict=True)),
            max(step.busiest_rows for step in steps),
            max(seconds) if seconds else None,
        )


def _direct(ranks: tuple[int, ...], routes: BatchRoutes, tp: int) -> Iterator[Move]:
    """Send rows from their producer to every destination."""
    del tp
    for (source, first, width, blocks), rows in routes.totals.cells.items():
        for destinations in ranges_of(first, width, blocks, routes.stride):
            for rank in destinations:
                yield ranks[source], ranks[rank], rows


def _once(ranks: tuple[int, ...], routes: BatchRoutes, tp: int) -> Iterator[Move]:
    """Send rows to the rank of their CP coordinate that has the source's tp coordinate."""
    for (source, first, width, _), rows in routes.totals.cells.items():
        for shard in range(first, first + width, tp):
            yield ranks[source], ranks[shard + source % tp], rows


def _gather(ranks: tuple[int, ...], routes: BatchRoutes, tp: int) -> Iterator[Move]:
    """Share what each rank then holds with the rest of its TP group."""
    held: dict[int, int] = {}
    for _, rank, rows in _once(ranks, routes, tp):
        held[rank] = held.get(rank, 0) + rows
    for at, rank in enumerate(ranks):
        if rank in held:
            first = at // tp * tp
            for other in ranks[first : first + tp]:
                yield rank, other, held[rank]


def _step(moves: Iterable[Move], links: Links, row_bytes: int) -> Step:
    """Add up one collective. Rows that stay on their rank move nothing."""
    per_node = links.ranks_per_node
    sent: dict[int, int] = {}
    received: dict[int, int] = {}
    sent_away: dict[int, int] = {}
    received_away: dict[int, int] = {}
    rows_moved = away = 0
    for source, rank, rows in moves:
        if source == rank:
            continue
        rows_moved += rows
        sent[source] = sent.get(source, 0) + rows
        received[rank] = received.get(rank, 0) + rows
        if per_node is not None and source // per_node != rank // per_node:
            away += rows
            sent_away[source] = sent_away.get(source, 0) + rows
            received_away[rank] = received_away.get(rank, 0) + rows
    busiest = _most(sent, received)
    seconds = None
    if links.link is not None:
        slower = max(_weighted(sent, sent_away, links), _weighted(received, received_away, links))
        seconds = links.link.seconds(slower * row_bytes)
    return Step(rows_moved, away, busiest, seconds)


def _most(*amounts: dict[int, int]) -> int:
    return max((max(amount.values(), default=0) for amount in amounts), default=0)


def _weighted(amounts: dict[int, int], away: dict[int, int], links: Links) -> float:
    """Return the rows of the slowest rank; those within its node count by how much faster they move."""
    if links.link is None or links.ranks_per_node is None or links.node_bandwidth is None:
        return max(amounts.values(), default=0)
    ratio = links.link.bandwidth / links.node_bandwidth
    if ratio == 1:
        return max(amounts.values(), default=0)
    return max(
        (away.get(rank, 0) + (rows - away.get(rank, 0)) * ratio for rank, rows in amounts.items()), default=0
    )
