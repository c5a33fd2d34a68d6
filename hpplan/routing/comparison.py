"""The ways to move the same features, side by side, and which of them is the fastest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.routing.cells import moved_by_rank, moved_inside, pattern_of
from hpplan.routing.cluster import Cluster
from hpplan.routing.link_time import Exchange, exchanges_of, predicted, rows_of
from hpplan.routing.once import OnceRoutes, kind_of_routes
from hpplan.routing.request import check_links
from hpplan.routing.traffic import LINK_FIELD, LINKS_FIELD, Link, link_data, links_data
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import TEXT, Field, count, list_of, or_null
from hpplan.wording import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.transfers import BatchRoutes, Granularity


class Links(NamedTuple):
    """What the ranks are connected with.

    A rank moves what stays in its node and what leaves it one after the other:
    with the same bandwidth for both, a node makes no difference to the time.
    """

    link: Link | Cluster | None = None
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


WAY = Answer(
    None,
    Field("name", TEXT, "What the way is called."),
    Field("summary", TEXT, "What it does."),
    Field("collectives", count(1), "Collectives that run one after the other."),
    Field("rows", count(0), "That leave their rank."),
    Field("bytes", count(0), "Of these rows."),
    Field("rows_between_nodes", or_null(count(0)), "Null where `ranks_per_node` is."),
    Field(
        "busiest_rank_rows",
        count(0),
        "Of the busiest rank of each collective, added up.",
        get=lambda way: way.busiest_rows,
    ),
    Field("busiest_rank_bytes", count(0), "Of these rows."),
    Field("seconds", or_null(AMOUNT), "The estimated time; null where `link` is."),
)
COMPARISON = Answer(
    None,
    LINK_FIELD._replace(get=lambda comparison: link_data(comparison.links.link)),
    LINKS_FIELD._replace(get=lambda comparison: links_data(comparison.links.link)),
    Field(
        "ranks_per_node",
        or_null(count(1)),
        "Ranks of one node; null where it was not given.",
        get=lambda comparison: comparison.links.ranks_per_node,
    ),
    Field(
        "node_bandwidth",
        or_null(AMOUNT),
        "GB/s of a rank to ranks of its node; null: as the link.",
        get=lambda comparison: comparison.links.node_bandwidth,
    ),
    Field("ways", list_of(WAY), "The ways to move the same features."),
    Field(
        "row_leaves_out_items",
        list_of(count(0)),
        "Ids of items of which only `record` brings all rows to their explicit destinations.",
        get=lambda comparison: comparison.incomplete,
    ),
    Field("take", TEXT, "Name of the best way.", get=lambda comparison: comparison.best.name),
    Field("reason", TEXT, "Why it is the best."),
)
"""What `hpplan route --compare` answers."""


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
        ways = [
            WAY.of(
                way,
                collectives=len(way.steps),
                bytes=way.rows * self.row_bytes,
                rows_between_nodes=way.rows_between_nodes if self.links.ranks_per_node else None,
                busiest_rank_bytes=way.busiest_rows * self.row_bytes,
            )
            for way in self.ways
        ]
        return COMPARISON.of(self, ways=ways)


def compare_ways(table: RoutingTable, links: Links) -> Comparison:
    """Compare the ways to move the features of a table, with its buckets and destinations.

    They are the granularities, as `hpplan exec` runs them; `once` is among them where TP ranks hold
    copies and no destinations are explicit. Raises UnusableRequest for links that there are not.
    """
    if isinstance(links.link, Link):
        check_links(*links.link, links.node_bandwidth)
    ways = [
        Way("record", "whole records to every owner", _Group(table, "record", links).steps()),
        Way("row", "owned rows to every owner", _Group(table, "row", links).steps()),
    ]
    once = _Group(table, "once", links)
    if once.is_once and not any(parent.routes.explicit for parent in table.parents):
        summary = "owned rows once to each CP coordinate, and from there to the others of its TP group"
        ways.append(Way("once", summary, once.steps()))
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
        self._rows = rows_of(table.workload)
        made: dict[int, BatchRoutes] = {}
        self._parents: list[tuple[tuple[int, ...], BatchRoutes]] = []
        self._everyone: list[tuple[tuple[int, ...], BatchRoutes]] = []
        self._times: list[int] = []
        at: dict[tuple[int, tuple[int, ...]], int] = {}
        for ranks, routes in table.parents:
            # What a parent moves between nodes depends on how nodes cut it.
            nodes = () if links.ranks_per_node is None else pattern_of(ranks, links.ranks_per_node)
            key = (id(routes), nodes)
            if id(routes) not in made:
                made[id(routes)] = _in_granularity(routes, granularity)
            self._everyone.append((ranks, made[id(routes)]))
            if key in at:
                self._times[at[key]] += 1
                continue
            at[key] = len(self._parents)
            self._parents.append((ranks, made[id(routes)]))
            self._times.append(1)

    @property
    def is_once(self) -> bool:
        """Whether rows go once to each CP coordinate, and from there on."""
        return any(isinstance(routes, OnceRoutes) for _, routes in self._parents)

    def steps(self) -> tuple[Step, ...]:
        """Add up each collective over all parents."""
        moved = [exchanges_of(ranks, routes) for ranks, routes in self._parents]
        everyone = [exchanges_of(ranks, routes) for ranks, routes in self._everyone]
        return tuple(
            self._step([of_parent[number] for of_parent in moved], [one[number] for one in everyone])
            for number in range(len(moved[0]))
        )

    def _step(self, moved: Sequence[Exchange], everyone: Sequence[Exchange]) -> Step:
        steps = [_step(exchange, self._links, self._row_bytes) for exchange in moved]
        seconds = [step.seconds for step in steps if step.seconds is not None]
        if isinstance(self._links.link, Cluster):
            seconds = [sum(predicted([everyone], self._links.link, self._rows))]
        return Step(
            sum(step.rows * times for step, times in zip(steps, self._times, strict=True)),
            sum(step.rows_between_nodes * times for step, times in zip(steps, self._times, strict=True)),
            max(step.busiest_rows for step in steps),
            max(seconds) if seconds else None,
        )


def _in_granularity(routes: BatchRoutes, granularity: Granularity) -> BatchRoutes:
    if routes.granularity == granularity:
        return routes
    return kind_of_routes(routes.mode, granularity, routes.ownership)(
        routes.mode,
        granularity,
        routes.ownership,
        routes.buckets,
        routes.encoder_cp_size,
        routes.explicit,
        routes.items,
        sharded=routes.sharded,
    )


def _step(collective: Exchange, links: Links, row_bytes: int) -> Step:
    """Add up one collective. Rows that stay on their rank move nothing."""
    ranks, cells, stride, *_ = collective
    sent, received, kept = moved_by_rank(cells, len(ranks), stride)
    if not collective.packs:
        sent = list(collective.produced) if len(ranks) > 1 else [0]
    sent_near, received_near = sent, received
    if links.ranks_per_node is not None:
        nodes = [rank // links.ranks_per_node for rank in ranks]
        near = moved_inside(cells, nodes, stride)
        sent_near, received_near = ([rows - own for rows, own in zip(one, kept, strict=True)] for one in near)
        if not collective.packs:
            # A broadcast sends a row once to all others, out of its node if one of them is there.
            sent_near = sent if len(set(nodes)) == 1 else [0] * len(ranks)
    seconds = None
    if isinstance(links.link, Link):
        slower = max(_slowest(sent, sent_near, links), _slowest(received, received_near, links))
        seconds = links.link.seconds(slower * row_bytes)
    return Step(sum(sent), sum(sent) - sum(sent_near), max(chain(sent, received)), seconds)


def _slowest(amounts: Sequence[int], near: Sequence[int], links: Links) -> float:
    """Return the rows of the slowest rank; those within its node count by how much faster they move."""
    if not isinstance(links.link, Link) or links.ranks_per_node is None or links.node_bandwidth is None:
        return max(amounts)
    ratio = links.link.bandwidth / links.node_bandwidth
    if ratio == 1:
        return max(amounts)
    return max(rows - inside + inside * ratio for rows, inside in zip(amounts, near, strict=True))
