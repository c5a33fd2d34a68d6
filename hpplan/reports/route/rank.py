"""What one rank, or each, holds, sends, receives and hands over, as text and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest
from hpplan.reports.route.facts import setting_of
from hpplan.reports.terminal.quantities import size
from hpplan.reports.terminal.screen import stacked
from hpplan.routing.routes_shape import DIGEST, GRANULARITY_FIELD, RANKS
from hpplan.shapes.answer import Answer, either
from hpplan.shapes.shape import TEXT, Field, count, list_of, literal
from hpplan.wording import listed, plural

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

    from hpplan.reports.route.facts import Facts
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.rank_route import RankRoute


MOST_POSITIONS = 50_000_000
"""Received rows up to which a document lists their positions one by one."""

MOST_LISTED = 64
"""Ranks of a group up to which text lists them all."""


def _tuples(length: int) -> CoreSchema:
    return list_of(list_of(count(0), length, length))


IDLE = Answer(
    None,
    Field("rank", count(0), "Global rank."),
    Field("exchanges", literal([False]), "It has no part in the exchange."),
    Field("reason", TEXT, "Why the rank has no part in the exchange."),
)
_GATHER = Answer(
    None,
    Field("receives", _tuples(4), "[source, item_id, row_start, row_stop] in wire order."),
    Field("input_splits", RANKS, "Rows to each rank of the group."),
    Field("output_splits", RANKS, "Rows from each rank of the group."),
)
EXCHANGING = Answer(
    None,
    Field("rank", count(0), "Global rank."),
    Field("exchanges", literal([True]), "It has a part in the exchange."),
    Field("digest", DIGEST, "Of the routing table."),
    Field("mode", TEXT, "Which ranks exchange, by which collective."),
    GRANULARITY_FIELD,
    Field("group_ranks", RANKS, "Global rank of each rank of the group, which peers are numbered by."),
    Field("group_rank", count(0), "The rank's own number in the group."),
    Field("tokens", _tuples(2), "[start, stop) of the tokens that the rank holds."),
    Field("local_length", count(0), "Tokens of one batch row that the rank holds."),
    Field("copies", count(1), "Ranks of the group that hold these tokens."),
    Field("bucket", _tuples(2), "[item_id, rows] of the features that the rank produces, in order."),
    Field("sends", _tuples(4), "[destination, item_id, row_start, row_stop] in wire order."),
    Field("receives", _tuples(4), "[source, item_id, row_start, row_stop] in wire order."),
    Field("input_splits", RANKS, "Rows to each rank of the group."),
    Field("output_splits", RANKS, "Rows from each rank of the group."),
    Field(
        "gather",
        _GATHER.schema,
        "The second step of `once`, after which rows are handed over.",
    ),
    Field("hand_over", _tuples(4), "[item_id, row_start, row_stop, first received row] in hand-over order."),
    Field(
        "positions",
        list_of(count(-1)),
        "For each received row batch_index * local_length + its local token; -1 where it is another's.",
    ),
    Field("rows_sent", count(0), "To others."),
    Field("rows_received", count(0), "From others."),
    Field("rows_kept", count(0), "From itself."),
    Field("send_buffer_bytes", count(0), "Of the rows that it sends and keeps."),
    Field("receive_buffer_bytes", count(0), "Of the rows that it receives and keeps."),
    optional=("gather",),
)
_EVERY_RANK = Answer(
    None, Field("ranks", list_of(either(EXCHANGING, IDLE)), "Every rank of the mesh, by global rank.")
)
RANK = either(EXCHANGING, IDLE, _EVERY_RANK)
"""What `hpplan route --rank` answers."""


def rank_text(view: RouteView, rank: int | None, screen: Screen) -> str:
    """Return the part of one rank as text, or (None) of each, one after the other."""
    if rank is not None:
        return _part(view, rank, screen, setting_of(view))
    parts = [screen.facts(setting_of(view))]
    return stacked([*parts, *(_part(view, each, screen, []) for each in every_rank(view))])


def _part(view: RouteView, rank: int, screen: Screen, setting: Facts) -> str:
    route = view.table.rank_route(rank)
    if route is None:
        return screen.facts([("rank", f"{rank}: {_idle(view, rank)}")])
    row_bytes = view.traffic.row_bytes
    group = route.group_ranks
    parts = [screen.facts([*setting, *_facts(view, route)])]
    for title, headers, rows in (
        (
            "Sends, in wire order",
            ("to rank", "item", "rows from", "to", "count"),
            [(group[to], item, start, stop, stop - start) for to, item, start, stop in route.sends],
        ),
        (
            "Receives, in wire order",
            ("from rank", "item", "rows from", "to", "count"),
            [
                (group[source], item, start, stop, stop - start)
                for source, item, start, stop in route.receives
            ],
        ),
        (
            "Hands over, by batch row and token",
            ("item", "rows from", "to", "at received row"),
            route.last.hand_over,
        ),
        (
            "Received rows at my tokens",
            ("received row", "count", "batch row", "local token"),
            [_position(route.last, *run) for run in route.last.position_runs],
        ),
    ):
        lines = [[str(cell) for cell in row] for row in rows]
        parts.append(
            screen.table(title, headers, lines, range(len(headers))) if lines else f"{title}: nothing\n"
        )
    out, into = size(route.send_buffer_rows * row_bytes), size(route.receive_buffer_rows * row_bytes)
    parts.append(screen.facts([("buffers", f"{out} out, {into} in")]))
    return stacked(parts)


def rank_data(view: RouteView, rank: int | None) -> dict[str, Any]:
    """Return the part of one rank, or (None) of each, as a document.

    Peers are parent ranks, `group_ranks` their global ranks.
    """
    if rank is None:
        return _EVERY_RANK.of(ranks=[rank_data(view, each) for each in every_rank(view)])
    route = view.table.rank_route(rank)
    if route is None:
        return IDLE.of(rank=rank, exchanges=False, reason=_idle(view, rank))
    rows = route.last.receive_buffer_rows
    if rows > MOST_POSITIONS:
        raise UnusableRequest(
            f"rank {rank} gets {rows:,} rows, too many to list the position of each; "
            "--format table has them as runs"
        )
    row_bytes = view.traffic.row_bytes
    return EXCHANGING.of(
        route,
        rank=rank,
        exchanges=True,
        digest=view.table.digest,
        mode=route.mode.name,
        granularity=view.table.granularity,
        local_length=route.last.local_length,
        copies=route.last.copies,
        gather=None if route.gather is None else _GATHER.of(route.gather),
        hand_over=route.last.hand_over,
        positions=route.last.positions,
        tokens=tuple(_tokens(view, route)),
        send_buffer_bytes=route.send_buffer_rows * row_bytes,
        receive_buffer_bytes=route.receive_buffer_rows * row_bytes,
    )


def every_rank(view: RouteView) -> range:
    """Return all ranks.

    Raises UnusableRequest where positions, or the splits of each rank, would be too many to list.
    """
    ranks = view.traffic.ranks
    if max(view.traffic.rows, ranks * view.table.mesh.parent_size) > MOST_POSITIONS:
        raise UnusableRequest(f"what all {ranks:,} ranks do is too much to list; give --rank R for one")
    return range(view.table.mesh.world_size)


def _idle(view: RouteView, rank: int) -> str:
    stage = view.table.mesh.coordinates(rank)["pp"]
    return f"on pipeline stage {stage}; only stage 0 exchanges"


def _facts(view: RouteView, route: RankRoute) -> Facts:
    at = view.table.mesh.coordinates(route.global_rank)
    where = ", ".join(f"{axis} {at[axis]}" for axis in view.table.mesh.axes)
    tokens = ", ".join(f"{start} to {stop - 1}" for start, stop in _tokens(view, route))
    copies = route.last.copies - 1
    others = f", as {plural(copies, 'other rank')} {'does' if copies == 1 else 'do'}" if copies else ""
    items = [item for item, _ in route.bucket]
    encodes = f"{listed('item', items, len(items))}: {plural(route.rows_produced, 'row')}"
    return [
        ("rank", f"{route.global_rank}: {where or 'the only one'}; rank {route.group_rank} of its group"),
        ("group", _group(route)),
        ("holds", f"tokens {tokens}{' with padding' if view.table.fitted.moves_tokens else ''}{others}"),
        ("encodes", encodes if items else "nothing"),
        ("sends", f"{plural(route.rows_sent, 'row')} to others, keeps {route.rows_kept:,}"),
        ("receives", f"{plural(route.rows_received, 'row')} from others"),
        ("input splits", _splits(route, route.input_splits)),
        ("output splits", _splits(route, route.output_splits)),
        *([] if route.gather is None else _gathers(route.gather)),
        *_inputs(view, route.global_rank),
    ]


def _gathers(gather: RankRoute) -> Facts:
    """Return what a rank passes on in the second step of `once`."""
    return [
        ("passes on", f"{plural(gather.rows_sent, 'row')} to others of its CP coordinate"),
        ("gathers", f"{plural(gather.rows_received, 'row')} from them"),
    ]


def _inputs(view: RouteView, rank: int) -> Facts:
    """Return what a rank does with inputs, where replicas share the encoder work."""
    route = view.table.rank_inputs(rank) if view.traffic.inputs is not None else None
    if route is None:
        return []
    items = sorted({item for to, item, _, _ in route.sends if to != route.group_rank})
    sent = f"{plural(route.rows_sent, 'row')} of {listed('item', items, len(items))}" if items else "nothing"
    return [
        ("inputs read", f"{plural(len(route.bucket), 'item')}, {plural(route.rows_produced, 'row')}"),
        ("inputs sent", f"{sent} to others, keeps {plural(route.rows_kept, 'row')}"),
        ("inputs received", f"{plural(route.rows_received, 'row')} from others"),
    ]


def _group(route: RankRoute) -> str:
    ranks = route.group_ranks
    if len(ranks) <= MOST_LISTED:
        return " ".join(map(str, ranks))
    return f"{len(ranks):,} ranks, {min(ranks)} to {max(ranks)}"


def _splits(route: RankRoute, splits: tuple[int, ...]) -> str:
    if len(splits) <= MOST_LISTED:
        return " ".join(map(str, splits))
    some = [f"{rows} with {rank}" for rank, rows in zip(route.group_ranks, splits, strict=True) if rows]
    return ", ".join(some) or "none"


def _tokens(view: RouteView, route: RankRoute) -> list[tuple[int, int]]:
    at = view.table.mesh.parent_of(route.global_rank)
    ownership = view.table.parents[at[0] if at else 0].routes.ownership
    ranges = ownership.shard(ownership.shard_of(route.group_rank)).ranges
    return [(start, stop) for start, stop, _ in ranges]


def _position(route: RankRoute, offset: int, rows: int, start: int) -> tuple[object, ...]:
    if start < 0:
        return offset, rows, "-", "not mine"
    batch, local = divmod(start, route.local_length)
    return offset, rows, batch, local
