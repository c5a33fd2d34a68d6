"""How long an exchange takes over the links of a cluster.

The time of one collective, as gloo and NCCL run an all-to-all, is

    latencies + copies + the slowest link

- *Latencies*: a rank begins with its peers one after the other, so their latencies add up.
- *Copies*: of the rank that copies most, bytes over `copy`; or those of its node, where only `copies_at_once`
  ranks copy so fast at once, as on a machine with fewer cores than ranks. A row is copied once into a send
  buffer, unless the features lie as they are sent, and once where its rank keeps it. Backward, the gradients
  that arrive are put into their places, or added up there where a row went to several ranks: in float32,
  where that is wider and more than two are added or divided. Each of these reads and writes so many bytes of
  a row; half of that counts, as a copy reads and writes it once.
- *The slowest link*: all messages of a collective are on their way at once, so they end with the link that
  has most to carry: `(most + two_way * least) / bandwidth`, of the bytes that it carries out and in. A link
  between nodes carries what its `shared_by` ranks send to other nodes, and one within a node what they send
  to others of their node. One rank alone may get `rank_bandwidth` at most. All parents exchange at once, and
  share links.

Backward, the gradients go the other way: what was sent is received, over the same links. Collectives that
run one after the other add up. Bandwidths are those that `hpplan exec --calibrate` finds with exchanges of
several sizes and patterns, so they hold what protocols, acknowledgements and busy cores cost.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.cells import moved_by_rank, moved_inside, pattern_of
from hpplan.routing.cluster import Carried
from hpplan.routing.once import OnceRoutes
from hpplan.workload.shape import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hpplan.routing.cells import Cell
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.transfers import BatchRoutes
    from hpplan.workload.workload import Workload

_EXACT_SUM = 2
"""Gradients that are added up in a dtype that is not float32 without rounding more than once."""

_WIDE = 4
"""Bytes of a float32."""


class Exchange(NamedTuple):
    """What the ranks of one parent move in one collective."""

    ranks: Sequence[int]
    """Global ranks, in the order in which the cells number them."""
    cells: Mapping[Cell, int]
    stride: int
    produced: Sequence[int]
    """Rows that each rank brings."""
    copies: int = 1
    """By how many ranks with the same tokens a row's gradient is divided."""
    packs: bool = True
    """Whether what a rank sends is packed: a broadcast takes rows as they lie."""


class Rows(NamedTuple):
    """What one row of features is."""

    size: int
    """Bytes over all payloads."""
    itemsize: int
    payloads: int


class Prediction(NamedTuple):
    """Seconds of an exchange of features."""

    forward: float
    backward: float


def rows_of(workload: Workload) -> Rows:
    """Return what a row of a workload's features is."""
    return Rows(workload.row_bytes, DTYPES[workload.dtype], workload.payloads)


def steps_of(table: RoutingTable) -> list[list[Exchange]]:
    """Return what each parent of a table moves, in one collective or in two."""
    parents = [exchanges_of(ranks, routes) for ranks, routes in table.parents]
    return [[steps[number] for steps in parents] for number in range(len(parents[0]))]


def exchanges_of(ranks: Sequence[int], routes: BatchRoutes) -> list[Exchange]:
    """Return what one parent moves, in one collective or in two."""
    copies, stride = routes.ownership.copies, routes.stride
    if not isinstance(routes, OnceRoutes):
        cells, packs = routes.totals.cells, not routes.mode.reaches_all
        return [Exchange(ranks, cells, stride, routes.rows_produced, copies, packs=packs)]
    first, second = routes.steps
    held = [sum(one.stop - one.start for one in of_rank) for of_rank in routes.held]
    # What a rank holds it has already; in the gather it goes to the others.
    kept = {(rank, rank, 1, 1): rows for rank, rows in enumerate(held) if rows}
    return [
        Exchange(ranks, first, stride, routes.rows_produced),
        Exchange(ranks, {**kept, **second}, stride, held, copies),
    ]


def predict(table: RoutingTable, cluster: Cluster) -> Prediction:
    """Return how long the exchange of a table's features takes.

    Raises InvalidInput where the links do not reach all ranks.
    """
    cluster.check_reach(table.mesh.world_size)
    return predicted(steps_of(table), cluster, rows_of(table.workload))


def predicted(steps: Iterable[Sequence[Exchange]], cluster: Cluster, rows: Rows) -> Prediction:
    """Return how long collectives take that run one after the other, each of them on all parents at once."""
    between = cluster.between_nodes
    shared = (cluster.within_node.shared_by, between.shared_by if between else 1)
    loads = [Loads.of(step, rows, cluster.ranks_per_node, *shared) for step in steps]
    return Prediction(
        sum(_seconds(one, one.forward_copies, cluster) for one in loads),
        sum(_seconds(one, one.backward_copies, cluster) for one in loads),
    )


def _seconds(loads: Loads, copies: Copies, cluster: Cluster) -> float:
    within, between = cluster.within_node, cluster.between_nodes
    slowest = within.seconds(loads.within)
    latency = loads.near_peers * within.latency
    if between is not None:
        slowest = max(slowest, between.seconds(loads.between))
        latency += loads.far_peers * between.latency
    at_once = cluster.copies_at_once or cluster.ranks_per_node
    return latency / 1e6 + copies.counted(at_once) / cluster.copy / 1e9 + slowest


class Copies(NamedTuple):
    """Bytes that are copied."""

    of_rank: float
    """By the rank that copies most."""
    of_node: float
    """By the ranks of the node that copies most."""

    def counted(self, at_once: int) -> float:
        """Return the bytes that one rank would copy in the same time, so many copying at once."""
        return max(self.of_rank, self.of_node / at_once)


class Loads(NamedTuple):
    """What one collective of all parents asks of the busiest link of each kind, and of the busiest rank."""

    near_peers: int
    """Of a rank, in its node."""
    far_peers: int
    within: Carried
    between: Carried
    forward_copies: Copies
    backward_copies: Copies

    @classmethod
    def of(
        cls,
        exchanges: Sequence[Exchange],
        rows: Rows,
        ranks_per_node: int,
        within_shared_by: int,
        between_shared_by: int,
    ) -> Loads:
        """Add up what exchanges that run at once put on links, so many ranks sharing one."""
        within: dict[tuple[int, int], list[tuple[int, int]]] = {}
        between: dict[tuple[int, int], list[tuple[int, int]]] = {}
        copied: dict[int, list[_OfRank]] = {}
        near_peers = far_peers = 0
        known: dict[tuple[int, tuple[int, ...]], list[_OfRank]] = {}
        for exchange in exchanges:
            nodes = pattern_of(exchange.ranks, ranks_per_node)
            key = (id(exchange.cells), nodes)
            if key not in known:
                known[key] = _by_rank(exchange, nodes, rows)
            near = max(Counter(nodes).values()) - 1
            near_peers, far_peers = max(near_peers, near), max(far_peers, len(nodes) - 1 - near)
            for rank, moved in zip(exchange.ranks, known[key], strict=True):
                node, at = divmod(rank, ranks_per_node)
                near_link, far_link = (node, at // within_shared_by), (node, at // between_shared_by)
                within.setdefault(near_link, []).append((moved.sent_near, moved.received_near))
                between.setdefault(far_link, []).append((moved.sent_far, moved.received_far))
                copied.setdefault(node, []).append(moved)
        return cls(
            near_peers,
            far_peers,
            _carried(within.values(), rows.size),
            _carried(between.values(), rows.size),
            _copies([[one.forward * rows.size for one in node] for node in copied.values()]),
            _copies([[one.backward * rows.size for one in node] for node in copied.values()]),
        )


def _copies(nodes: Sequence[Sequence[float]]) -> Copies:
    return Copies(max(map(max, nodes)), max(map(sum, nodes)))


def _carried(links: Iterable[Sequence[tuple[int, int]]], size: int) -> Carried:
    """Return what links carry of what each of their ranks sends and receives."""
    ways: set[tuple[int, int]] = set()
    most = 0
    for ranks in links:
        out, into = (sum(rows) * size for rows in zip(*ranks, strict=True))
        ways.add((max(out, into), min(out, into)))
        most = max(most, *map(max, ranks))
    return Carried(frozenset(ways), most * size)


class _OfRank(NamedTuple):
    """Rows that a rank moves, and those that it copies."""

    sent_near: int
    """To other ranks of its node."""
    sent_far: int
    received_near: int
    received_far: int
    forward: float
    backward: float


def _by_rank(exchange: Exchange, nodes: Sequence[int], rows: Rows) -> list[_OfRank]:
    """Return what each rank moves within its node and out of it, and copies; what it keeps is apart."""
    cells, stride = exchange.cells, exchange.stride
    sent, received, kept = moved_by_rank(cells, len(nodes), stride)
    inside = moved_inside(cells, nodes, stride)
    destinations, receivers = [0] * len(nodes), [1] * len(nodes)
    for source, _, width, blocks in cells:
        destinations[source] += width * blocks
        receivers[source] = max(receivers[source], width * blocks)
    found: list[_OfRank] = []
    for at, own in enumerate(kept):
        sent_near, received_near = inside[0][at] - own, inside[1][at] - own
        in_order = destinations[at] == 1 and rows.payloads == 1
        packed = 0 if in_order or not exchange.packs else sent[at]
        back = float(received[at] if rows.payloads > 1 else 0)
        arrived, produced = sent[at] + own, exchange.produced[at]
        if arrived and not (in_order and exchange.copies == 1):
            # What goes to several ranks may be spread over cells; what goes to one each, over ranks.
            several = max(receivers[at], -(-arrived // produced)) if arrived > produced else 1
            back += _added_up(arrived, produced, several, exchange.copies, rows)
        found.append(
            _OfRank(
                sent_near,
                sent[at] - sent_near,
                received_near,
                received[at] - received_near,
                own + packed,
                back,
            )
        )
    return found


def _added_up(arrived: int, produced: int, receivers: int, copies: int, rows: Rows) -> float:
    """Return the copies of a row that it costs to make gradients of rows of those that arrive."""
    widened = rows.itemsize < _WIDE and (receivers > _EXACT_SUM or copies > 1)
    width = _WIDE / rows.itemsize if widened else 1.0
    moved = arrived * (1 + width)
    if receivers > 1:
        # The sum is cleared first, and read with each gradient.
        moved += (arrived + produced) * width
    moved += produced * 2 * width * (copies > 1)
    moved += produced * (1 + width) * widened
    moved += produced * 2 * (rows.payloads > 1)
    return moved / 2
