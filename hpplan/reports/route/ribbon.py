"""The sequence as ribbons: what each CP rank holds of a batch row, with the images on it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hpplan.reports.route.markup import escape
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.ownership import Ownership, Shard
    from hpplan.routing.transfers import BatchRoutes
    from hpplan.workload.workload import Item

MOST_PIECES = 2_500
"""Pieces of images on a page; batch rows that would go beyond are left out, and said to be."""
MOST_BATCH_ROWS = 16
MOST_CP_RANKS = 32
MOST_PARENTS = 4
MOST_SLICES = 16
"""TP ranks whose slices are marked."""

_LETTER_SHARE = 0.035
"""Share of the ribbon that a letter takes on a phone, where a ribbon is 250 pixels long."""
_BORDER_SHARE = 0.02

STYLE = """\
.batch-row { margin: 0 0 1.1rem; }
.batch-row h4 { margin: 0 0 .3rem; font-size: .95rem; }
.lane { display: grid; grid-template-columns: 3.6rem 1fr; gap: .5rem; align-items: center; margin: .2rem 0; }
.lane > span { font-variant-numeric: tabular-nums; color: var(--quiet); font-size: .85rem; }
.ribbon { position: relative; height: 1.7rem; border: 1px solid var(--line); border-radius: 3px;
  background: var(--lane); overflow: hidden; }
.ribbon .cut { position: absolute; top: 0; bottom: 0; width: 0; border-left: 1px dashed var(--quiet); }
.ribbon .slice { position: absolute; top: 0; height: 25%; width: 0; border-left: 2px solid var(--quiet); }
.ribbon .piece { position: absolute; top: 12%; bottom: 12%; min-width: 2px; box-sizing: border-box;
  border: 1px solid var(--ink); border-radius: 2px; font-size: .75rem; line-height: 1.15rem;
  text-align: center; white-space: nowrap; color: var(--ink); }
.ribbon .even { background: var(--piece-a); }
.ribbon .odd { background: repeating-linear-gradient(135deg, var(--piece-b) 0 5px, var(--piece-c) 5px 8px); }
"""


class _Piece(NamedTuple):
    item: Item
    row_start: int
    row_stop: int
    local: int

    @property
    def end(self) -> int:
        """The local token after the last."""
        return self.local + self.row_stop - self.row_start


def ribbons(view: RouteView) -> str:
    """Return the ribbons of the first batch rows of the first parents, as HTML."""
    table = view.table
    parents = [(0, table.parents[0])] if view.alike else list(enumerate(table.parents))[:MOST_PARENTS]
    parts = [_how_to_read(view)]
    budget = MOST_PIECES
    for number, (_, routes) in parents:
        if len(table.parents) > 1 and not view.alike:
            parts.append(f"<h3>Replica {number}</h3>")
        text, budget = _parent(view, routes, budget)
        parts.append(text)
    if not view.alike and len(table.parents) > len(parents):
        parts.append(_not_drawn(len(table.parents) - len(parents), "replica"))
    return "\n".join(parts)


def _how_to_read(view: RouteView) -> str:
    mesh, ownership = view.table.mesh, view.table.fitted.ownership
    slices = (
        f" A short tick on top starts the slice of the next of {mesh.tp} TP ranks."
        if 1 < ownership.slices <= MOST_SLICES
        else f" Each is split evenly among {mesh.tp} TP ranks."
        if ownership.slices > 1
        else f" All {mesh.tp} TP ranks hold the same tokens."
        if mesh.tp > 1
        else ""
    )
    local = view.table.fitted.length // mesh.cp
    return (
        f"<p>A line is what one CP rank holds of a batch row, {plural(local, 'token')} in its local order. "
        "A box is a run of tokens that an image or video fills, with its item id where there is room; "
        "plain and striped boxes take turns. A dashed line is where the tokens jump to another part of the "
        f"sequence.{slices}</p>"
    )


def _parent(view: RouteView, routes: BatchRoutes, budget: int) -> tuple[str, int]:
    by_row: dict[tuple[int, int], list[Item]] = {}
    for _, item in routes.produced():
        by_row.setdefault((item.replica, item.batch_index), []).append(item)
    if not by_row:
        by_row[0, 0] = []
    cp = view.table.mesh.cp
    ownership = routes.ownership
    parts: list[str] = []
    drawn = 0
    for replica, row in sorted(by_row):
        first = ownership.first_shard(replica)
        lanes = [
            [ownership.shard(first + rank * ownership.slices + cut) for cut in range(ownership.slices)]
            for rank in range(min(cp, MOST_CP_RANKS))
        ]
        items = sorted(by_row[replica, row], key=lambda item: item.order)
        lines = _pieces(ownership, lanes, items)
        count = sum(map(len, lines))
        if drawn and (drawn == MOST_BATCH_ROWS or count > budget):
            break
        if count > budget:
            shown = max(1, budget * len(items) // count)
            parts.append(_not_drawn(len(items) - shown, "item", f" of batch row {row}"))
            items = items[:shown]
            lines = _pieces(ownership, lanes, items)
        budget = max(0, budget - count)
        drawn += 1
        of_replica = f" of replica {replica}" if view.table.mesh.pool > 1 else ""
        parts.append(f'<div class="batch-row"><h4>Batch row {row}{of_replica}</h4>')
        odd = {item.item_id: number % 2 for number, item in enumerate(items)}
        for rank, (lane, pieces) in enumerate(zip(lanes, lines, strict=True)):
            parts.append(_lane(view, rank, lane, pieces, odd))
        parts.append("</div>")
    left_out = len(by_row) - drawn
    if left_out:
        parts.append(_not_drawn(left_out, "batch row", " with images"))
    if cp > MOST_CP_RANKS:
        parts.append(_not_drawn(cp - MOST_CP_RANKS, "CP rank"))
    return "\n".join(parts), budget


def _not_drawn(number: int, noun: str, which: str = "") -> str:
    return f"<p>Not drawn: {plural(number, f'more {noun}')}{which}.</p>"


def _pieces(ownership: Ownership, lanes: list[list[Shard]], items: list[Item]) -> list[list[_Piece]]:
    """Return, for each CP rank, the runs of rows at consecutive tokens, across its slices."""
    found: list[list[_Piece]] = [[] for _ in lanes]
    slices, size = ownership.slices, ownership.local_length
    for item in items:
        owners = sorted({shard for shard, _, _ in ownership.runs(item)})
        first = ownership.first_shard(item.replica)
        for rank, cut in (divmod(shard - first, slices) for shard in owners):
            if rank >= len(lanes):
                break
            own = found[rank]
            for start, stop, local in lanes[rank][cut].owned(item.spans):
                last = own[-1] if own else None
                at = cut * size + local
                if last and last.item is item and last.row_stop == start and last.end == at:
                    own[-1] = last._replace(row_stop=stop)
                else:
                    own.append(_Piece(item, start, stop, at))
    return found


def _lane(view: RouteView, rank: int, lane: list[Shard], pieces: list[_Piece], odd: dict[int, int]) -> str:
    size = view.table.fitted.ownership.local_length
    length = size * len(lane)
    rows = sum(piece.row_stop - piece.row_start for piece in pieces)
    named = ", ".join(str(item) for item in dict.fromkeys(piece.item.item_id for piece in pieces)) or "none"
    label = f"CP rank {rank}: {plural(rows, 'row')} on {plural(length, 'token')}, of items: {named}"
    text = [
        f'<div class="lane"><span>CP {rank}</span>',
        f'<div class="ribbon" role="img" aria-label="{escape(label)}">',
    ]
    text.extend(f'<i class="cut" style="left:{_share(at, length)}%"></i>' for at in _jumps(lane, size))
    if len(lane) <= MOST_SLICES:
        text.extend(
            f'<i class="slice" style="left:{_share(cut * size, length)}%"></i>' for cut in range(1, len(lane))
        )
    for piece in pieces:
        count = piece.row_stop - piece.row_start
        name = str(piece.item.item_id)
        # A name that would not fit is left to the hover text and to the table of items.
        shown = name if count / length >= _LETTER_SHARE * len(name) + _BORDER_SHARE else ""
        hover = (
            f"item {name}: rows {piece.row_start:,} to {piece.row_stop - 1:,} of {piece.item.rows:,} "
            f"at local tokens {piece.local:,} to {piece.local + count - 1:,}"
        )
        text.append(
            f'<b class="piece {"odd" if odd[piece.item.item_id] else "even"}" title="{escape(hover)}" '
            f'style="left:{_share(piece.local, length)}%;width:{_share(count, length)}%">{shown}</b>'
        )
    text.append("</div></div>")
    return "".join(text)


def _jumps(lane: list[Shard], size: int) -> list[int]:
    """Return the local indices at which the next token is not the next of the sequence."""
    ranges = sorted(
        (cut * size + local, start, stop)
        for cut, shard in enumerate(lane)
        for start, stop, local in shard.ranges
    )
    return [local for (_, _, before), (local, start, _) in pairwise(ranges) if start != before]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.4g}"
