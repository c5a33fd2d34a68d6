"""How long an exchange takes over the links of a cluster.

The time of one collective, as gloo and NCCL run an all-to-all, is

    copies + the slowest link + latencies

- *Copies*: the rank that packs most, its bytes over `copy`. What a rank keeps is copied from its features
  to its buffer; what it sends is copied into a send buffer, unless one other rank gets all of it, so that
  the features are the buffer. On the way back the gradients that arrive are added up in the same place.
- *The slowest link*: all messages of a collective are on their way at once, so they end with the link that
  has most to carry, for its speed: `max(bytes out, bytes in) / bandwidth`. A link between nodes carries what
  its `shared_by` ranks send to other nodes; one within a node what its ranks send to others of the node. All
  parents exchange at once, and share links.
- *Latencies*: a rank starts with its peers one after the other, so their latencies add up.

Backward, the gradients go the other way: what was sent is received, over the same links.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.cells import moved_by_rank, moved_inside, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hpplan.routing.cells import Cell
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import RoutingTable


class Exchange(NamedTuple):
    """What the ranks of one parent move in one collective."""

    ranks: Sequence[int]
    """Global ranks, in the order in which the cells number them."""
    cells: Mapping[Cell, int]
    stride: int


class Prediction(NamedTuple):
    """Seconds of an exchange of features."""

    forward: float
    backward: float


class _Moved(NamedTuple):
    """Rows by rank, in the order of an exchange."""

    sent_near: list[int]
    """To other ranks of its node."""
    sent_far: list[int]
    received_near: list[int]
    received_far: list[int]
    kept: list[int]
    packed: list[int]


def predict(table: RoutingTable, cluster: Cluster) -> Prediction:
    """Return how long the exchange of a table's features takes.

    Raises InvalidInput where the links do not reach all ranks.
    """
    cluster.check_reach(table.mesh.world_size)
    step = [Exchange(ranks, routes.totals.cells, routes.stride) for ranks, routes in table.parents]
    return predicted([step], cluster, table.workload.row_bytes)


def predicted(steps: Iterable[Sequence[Exchange]], cluster: Cluster, row_bytes: int) -> Prediction:
    """Return how long collectives take that run one after the other, each of them on all parents at once."""
    loads = [_Loads(step, cluster) for step in steps]
    return Prediction(
        sum(one.seconds(row_bytes) for one in loads), sum(one.seconds(row_bytes, back=True) for one in loads)
    )


class _Loads:
    """What one collective of all parents puts on links and ranks, in rows."""

    def __init__(self, exchanges: Sequence[Exchange], cluster: Cluster) -> None:
        self._cluster = cluster
        self._within: dict[tuple[int, int], list[int]] = {}
        self._between: dict[tuple[int, int], list[int]] = {}
        self._packed = self._latency = 0.0
        known: dict[tuple[int, tuple[int, ...]], _Moved] = {}
        for exchange in exchanges:
            nodes = pattern_of(exchange.ranks, cluster.ranks_per_node)
            key = (id(exchange.cells), nodes)
            if key not in known:
                known[key] = _moved(exchange, nodes)
            self._add(exchange.ranks, known[key])
            self._latency = max(self._latency, _latency(nodes, cluster))

    def _add(self, ranks: Sequence[int], moved: _Moved) -> None:
        cluster = self._cluster
        within, between = cluster.within_node.shared_by, cluster.between_nodes
        for rank, *near_and_far, kept, packed in zip(ranks, *moved, strict=True):
            sent_near, sent_far, received_near, received_far = near_and_far
            node, at = divmod(rank, cluster.ranks_per_node)
            link = self._within.setdefault((node, at // within), [0, 0])
            link[0] += sent_near
            link[1] += received_near
            if between is not None:
                link = self._between.setdefault((node, at // between.shared_by), [0, 0])
                link[0] += sent_far
                link[1] += received_far
            self._packed = max(self._packed, kept + packed)

    def seconds(self, row_bytes: int, *, back: bool = False) -> float:
        """Return the time of the collective; the same links carry what goes back."""
        del back
        cluster = self._cluster
        slowest = _busiest(self._within) / cluster.within_node.bandwidth
        if cluster.between_nodes is not None:
            slowest = max(slowest, _busiest(self._between) / cluster.between_nodes.bandwidth)
        return (self._packed / cluster.copy + slowest) * row_bytes / 1e9 + self._latency


def _moved(exchange: Exchange, nodes: Sequence[int]) -> _Moved:
    """Return what each rank moves within its node and out of it; what it keeps is apart."""
    _, cells, stride = exchange
    sent, received, kept = moved_by_rank(cells, len(nodes), stride)
    sent_inside, received_inside = moved_inside(cells, nodes, stride)
    sent_near, received_near = (
        [rows - own for rows, own in zip(inside, kept, strict=True)]
        for inside in (sent_inside, received_inside)
    )
    receivers = [0] * len(nodes)
    for source, _, width, blocks in cells:
        receivers[source] += width * blocks
    return _Moved(
        sent_near,
        [rows - near for rows, near in zip(sent, sent_near, strict=True)],
        received_near,
        [rows - near for rows, near in zip(received, received_near, strict=True)],
        kept,
        [rows if count > 1 else 0 for rows, count in zip(sent, receivers, strict=True)],
    )


def _busiest(links: Mapping[tuple[int, int], Sequence[int]]) -> int:
    return max((max(link) for link in links.values()), default=0)


def _latency(nodes: Sequence[int], cluster: Cluster) -> float:
    """Return the seconds in which a rank of such a group has begun with all of its peers."""
    near = max(Counter(nodes).values()) - 1
    far = len(nodes) - 1 - near
    between = cluster.between_nodes
    return (near * cluster.within_node.latency + (far * between.latency if between else 0.0)) / 1e6
