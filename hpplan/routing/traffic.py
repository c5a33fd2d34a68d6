"""What the routes move: per rank, in all, against the least possible, and in time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.routing.assignment.base import COSTS, load_bound
from hpplan.routing.cells import moved_by_rank, moved_inside, numbered, rows_by_rank
from hpplan.routing.cluster import LINKS, Cluster
from hpplan.routing.inputs import InputTotals
from hpplan.routing.link_time import predict
from hpplan.routing.request import require_known
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import Field, or_null

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.cells import Cell
    from hpplan.routing.link_time import Prediction
    from hpplan.routing.routes import ParentRoutes, RoutingTable
    from hpplan.routing.transfers import BatchRoutes


class Link(NamedTuple):
    """What a rank's link does, for estimates."""

    bandwidth: float
    """GB/s, 10^9 bytes a second, each way."""
    latency: float = 0.0
    """Microseconds."""

    def seconds(self, size: float) -> float:
        """Return the time in seconds of moving `size` bytes."""
        return size / (self.bandwidth * 1e9) + self.latency / 1e6


LINK = Answer(
    None,
    Field("bandwidth", AMOUNT, "GB/s."),
    Field("latency", AMOUNT, "Microseconds."),
)


def link_data(link: Link | Cluster | None) -> dict[str, Any] | None:
    """Return a rank's link as a document has it; None where that is not what was given."""
    return LINK.of(link) if isinstance(link, Link) else None


def links_data(link: Link | Cluster | None) -> dict[str, Any] | None:
    """Return the links of a cluster as a document has them; None where that is not what was given."""
    return link.to_data() if isinstance(link, Cluster) else None


LINK_FIELD = Field(
    "link",
    or_null(LINK),
    "Of a rank to ranks of other nodes; null where none was given.",
    get=lambda value: link_data(value.link),
)
LINKS_FIELD = Field(
    "links",
    or_null(LINKS),
    "Of the cluster, where times are predicted; null where none were given.",
    get=lambda value: links_data(value.link),
)


class RankTraffic(NamedTuple):
    """What one rank moves, in rows."""

    rank: int
    """Global rank."""
    items: int
    produced: int
    """Rows of its bucket."""
    sent: int
    """To other ranks."""
    received: int
    """From other ranks."""
    kept: int
    """From itself."""
    send_buffer: int
    """What it packs: what it sends and keeps."""

    @property
    def receive_buffer(self) -> int:
        """What arrives, and what it keeps."""
        return self.received + self.kept


class Peak(NamedTuple):
    """The rank with the most of something, against the mean."""

    rank: int
    rows: int
    mean: float


class ProducerLoad(NamedTuple):
    """The busiest producer of the whole mesh."""

    parent: int
    rank: int
    """Global rank of the producer."""
    largest: int
    """Its load."""
    bound: int
    """Of its own parent, as no item can move to another.

    An even share, or the largest item where that is more.
    """
    mean: float
    """Over the producers of all parents."""


class InputTraffic(NamedTuple):
    """Inputs that travel between replicas that share the encoder work."""

    row_bytes: int
    rows_leaving: int
    largest_sender: Peak
    largest_receiver: Peak
    largest_buffer: int
    """Bytes of the largest send or receive buffer of any rank."""

    @property
    def bytes_leaving(self) -> int:
        """Bytes that leave their rank."""
        return self.rows_leaving * self.row_bytes

    def to_data(self) -> dict[str, Any]:
        """Return the `inputs` of the traffic of a routing table."""
        return {
            "row_bytes": self.row_bytes,
            "rows_leaving": self.rows_leaving,
            "bytes_leaving": self.bytes_leaving,
            "largest_sender": self.largest_sender._asdict(),
            "largest_receiver": self.largest_receiver._asdict(),
            "largest_buffer_bytes": self.largest_buffer,
        }


class BatchTraffic:
    """Rows by parent rank of one batch; parents that run the same batch share it."""

    def __init__(self, routes: BatchRoutes, cost: Cost = "rows") -> None:
        """Add up the cells of the matrix, without a square; loads are in `cost`."""
        size = routes.size
        self.items = [0] * size
        self.produced = [0] * size
        for rank, piece in routes.pieces():
            self.items[rank] += 1
            self.produced[rank] += piece.stop - piece.start
        self.sent, self.received, self.kept = moved_by_rank(routes.totals.cells, size, routes.stride)
        self.sent_back = self.sent
        """Rows whose gradients come back from others."""
        self.send_buffer = [out + own for out, own in zip(self.sent, self.kept, strict=True)]
        if routes.mode.reaches_all:
            # A broadcast sends a row once, to all others; gradients come back from each.
            self.sent, self.send_buffer = self.produced, self.produced
        power = 2 if cost == "rows^2" else 1
        costs = [[item.rows**power for item in items] for items in routes.buckets]
        loads = [sum(one) for one in costs]
        self.largest_load = max(loads)
        self.largest_producer = loads.index(self.largest_load) * routes.encoder_cp_size
        """Parent rank of the producer of the largest bucket; the lowest of equals."""
        self.bound = load_bound([one for bucket in costs for one in bucket], len(loads))
        self.load = sum(loads)
        """Of all its producers."""
        self.producers = len(loads)
        self.leaving = sum(self.sent)
        self.arriving = sum(self.received)
        """From other ranks."""
        self.least_leaving = min(routes.totals.least_rows_leaving, self.leaving)


class Traffic:
    """What a routing table moves."""

    def __init__(
        self, table: RoutingTable, link: Link | Cluster | None = None, *, cost: Cost = "rows"
    ) -> None:
        """Work out the sums in one pass over the items of each batch.

        `producer_load` is in `cost`; all else is in rows. Raises UnusableRequest
        for a cost that there is not.
        """
        require_known("cost", cost, COSTS)
        self.table = table
        self.cost = cost
        self.link = link
        by_routes: dict[int, BatchTraffic] = {}
        self.batches = [
            by_routes.setdefault(id(routes), BatchTraffic(routes, cost))
            if id(routes) not in by_routes
            else by_routes[id(routes)]
            for _, routes in table.parents
        ]
        """Of each parent, in order."""
        self.rows_kept = sum(sum(batch.kept) for batch in self.batches)
        self.rows_leaving = sum(batch.leaving for batch in self.batches)
        self.least_rows_leaving = sum(batch.least_leaving for batch in self.batches)
        self.row_bytes = table.workload.row_bytes
        self.ranks = sum(len(ranks) for ranks, _ in table.parents)
        """Ranks that exchange."""

    @property
    def bytes_leaving(self) -> int:
        """Bytes of features that leave their rank."""
        return self.rows_leaving * self.row_bytes

    @property
    def rows(self) -> int:
        """All rows that arrive somewhere, kept ones as well."""
        return self.rows_kept + sum(batch.arriving for batch in self.batches)

    def per_rank(self) -> Iterator[RankTraffic]:
        """Yield what each rank that exchanges moves, by global rank."""
        order = sorted(
            (rank, number, at)
            for number, (ranks, _) in enumerate(self.table.parents)
            for at, rank in enumerate(ranks)
        )
        for rank, number, at in order:
            batch = self.batches[number]
            yield RankTraffic(
                rank,
                batch.items[at],
                batch.produced[at],
                batch.sent[at],
                batch.received[at],
                batch.kept[at],
                batch.send_buffer[at],
            )

    @cached_property
    def largest_sender(self) -> Peak:
        """The rank that sends most to others; the lowest of equals."""
        return self._peak([batch.sent for batch in self.batches], self.rows_leaving)

    @cached_property
    def largest_receiver(self) -> Peak:
        """The rank that receives most from others; the lowest of equals."""
        return self._peak([batch.received for batch in self.batches], self.rows - self.rows_kept)

    @cached_property
    def inputs(self) -> InputTraffic | None:
        """What moves of inputs; None where none do, or items do not say."""
        routes = [parent.inputs for parent in self.table.parents]
        known = [one.totals for one in routes if one is not None]
        if not known or len(known) < sum(bool(parent.routes.items) for parent in self.table.parents):
            return None
        nothing = [0] * self.table.mesh.parent_size
        totals = [InputTotals(nothing, nothing, nothing) if one is None else one.totals for one in routes]
        size = self.table.workload.input_row_bytes
        leaving = sum(sum(one.sent) for one in totals)
        return InputTraffic(
            size,
            leaving,
            self._peak([one.sent for one in totals], leaving),
            self._peak([one.received for one in totals], leaving),
            size
            * max(
                max(out, into) + own
                for one in totals
                for out, into, own in zip(one.sent, one.received, one.kept, strict=True)
            ),
        )

    def _peak(self, amounts: Sequence[Sequence[int]], leaving: int) -> Peak:
        best, best_rank = -1, 0
        for (ranks, _), rows in zip(self.table.parents, amounts, strict=True):
            most = max(rows)
            rank = min(ranks[at] for at, value in enumerate(rows) if value == most) if most >= best else 0
            if most > best or (most == best and rank < best_rank):
                best, best_rank = most, rank
        return Peak(best_rank, best, leaving / self.ranks)

    @cached_property
    def producer_load(self) -> ProducerLoad:
        """The producer with the largest load of all parents; that of the first of equal parents."""
        number = max(range(len(self.batches)), key=lambda at: self.batches[at].largest_load)
        batch = self.batches[number]
        rank = self.table.parents[number].ranks[batch.largest_producer]
        mean = sum(one.load for one in self.batches) / sum(one.producers for one in self.batches)
        return ProducerLoad(number, rank, batch.largest_load, batch.bound, mean)

    @property
    def largest_buffer(self) -> int:
        """Bytes of the largest send or receive buffer of any rank, own rows included."""
        return self.row_bytes * max(
            max(out, into + own)
            for batch in self.batches
            for out, into, own in zip(batch.send_buffer, batch.received, batch.kept, strict=True)
        )

    @property
    def seconds(self) -> float | None:
        """The estimated time: the busiest rank's bytes over the bandwidth, plus the latency.

        Over the links of a cluster, the time predicted forward and backward together.
        """
        if self.link is None:
            return None
        if isinstance(self.link, Cluster):
            return sum(self.prediction or ())
        busiest = max(self.largest_sender.rows, self.largest_receiver.rows)
        return self.link.seconds(busiest * self.row_bytes)

    @cached_property
    def prediction(self) -> Prediction | None:
        """How long the exchange takes over the links of the cluster; None where none was given."""
        return predict(self.table, self.link) if isinstance(self.link, Cluster) else None

    def to_data(self) -> dict[str, Any]:
        """Return the `traffic` field of a routing table."""
        load = self.producer_load
        data: dict[str, Any] = {
            "rows": self.rows,
            "rows_kept": self.rows_kept,
            "rows_leaving": self.rows_leaving,
            "least_rows_leaving": self.least_rows_leaving,
            "row_bytes": self.row_bytes,
            "bytes_leaving": self.bytes_leaving,
            "largest_sender": self.largest_sender._asdict(),
            "largest_receiver": self.largest_receiver._asdict(),
            "producer_load": load._asdict(),
            "ranks": [
                {
                    "rank": one.rank,
                    "items": one.items,
                    "rows_produced": one.produced,
                    "rows_sent": one.sent,
                    "rows_received": one.received,
                    "rows_kept": one.kept,
                    "send_buffer_bytes": one.send_buffer * self.row_bytes,
                    "receive_buffer_bytes": one.receive_buffer * self.row_bytes,
                }
                for one in self.per_rank()
            ],
        }
        if self.inputs is not None:
            data["inputs"] = self.inputs.to_data()
        if isinstance(self.link, Link):
            data["estimate"] = {
                "bandwidth_gb_per_s": self.link.bandwidth,
                "latency_us": self.link.latency,
                "seconds": self.seconds,
            }
        if isinstance(self.link, Cluster) and self.prediction is not None:
            data["links"] = self.link.to_data()
            data["predicted_forward_seconds"] = self.prediction.forward
            data["predicted_backward_seconds"] = self.prediction.backward
        return data


def fold_matrix(parents: Sequence[ParentRoutes], block_of: Sequence[int], blocks: int) -> list[list[int]]:
    """Return rows from each block of ranks to each; `block_of[global rank]` says where a rank belongs.

    Costs a square of `blocks`, and one step for each cell of a batch, however many parents run it.
    """
    folded = [[0] * blocks for _ in range(blocks)]
    known: dict[tuple[int, tuple[int, ...]], dict[int, dict[int, int]]] = {}
    for ranks, routes in parents:
        names = list(dict.fromkeys(block_of[rank] for rank in ranks))
        key = (id(routes), numbered([block_of[rank] for rank in ranks]))
        if key not in known:
            known[key] = _folded_batch(routes, key[1])
        for source, line in known[key].items():
            whole = folded[names[source]]
            for block, rows in line.items():
                whole[names[block]] += rows
    return folded


def rows_leaving_blocks(parents: Sequence[ParentRoutes], block_of: Sequence[int]) -> int:
    """Return how many rows go from one block of ranks to another, without a square."""
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    leaving = 0
    for ranks, routes in parents:
        key = (id(routes), numbered([block_of[rank] for rank in ranks]))
        if key not in known:
            known[key] = _leaving_batch(routes, key[1])
        leaving += known[key]
    return leaving


def _folded_batch(routes: BatchRoutes, block_of: Sequence[int]) -> dict[int, dict[int, int]]:
    """Return rows of one batch from each block to each; `block_of` is by parent rank."""
    lines: dict[int, list[tuple[Cell, int]]] = {}
    for entry in routes.totals.cells.items():
        lines.setdefault(block_of[entry[0][0]], []).append(entry)
    found: dict[int, dict[int, int]] = {}
    for source, line in lines.items():
        into: dict[int, int] = {}
        found[source] = into
        for block, rows in zip(block_of, rows_by_rank(line, routes.size, routes.stride), strict=True):
            if rows:
                into[block] = into.get(block, 0) + rows
    return found


def _leaving_batch(routes: BatchRoutes, block_of: Sequence[int]) -> int:
    """Return how many rows of one batch leave their block."""
    cells = routes.totals.cells
    sent, _ = moved_inside(cells, block_of, routes.stride)
    return sum(rows * width * blocks for (_, _, width, blocks), rows in cells.items()) - sum(sent)
