"""The routing table as CSV: a line for each rank."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from hpplan.reports.route.rank import every_rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.reports.route.view import RouteView

HEADER = (
    "rank",
    "dp",
    "cp",
    "tp",
    "items",
    "rows_produced",
    "rows_sent",
    "rows_received",
    "rows_kept",
    "send_buffer_bytes",
    "receive_buffer_bytes",
)


INPUTS = ("input_rows_sent", "input_rows_received", "input_rows_kept")
"""More of them, where inputs travel between replicas that share the encoder work."""

_COLUMNS = ("what", "peer", "item_id", "row_start", "row_stop", "offset")


def render(view: RouteView) -> str:
    """Return a line for each rank that exchanges, by global rank; rows sent and received are others'."""
    mesh, size = view.table.mesh, view.traffic.row_bytes
    inputs = _inputs(view)
    lines: list[Sequence[object]] = [HEADER + (INPUTS if inputs else ())]
    for one in view.traffic.per_rank():
        at = mesh.coordinates(one.rank)
        buffers = (one.send_buffer * size, one.receive_buffer * size)
        own = (one.rank, at["dp"], at["cp"], at["tp"], *one[1:6], *buffers)
        lines.append((*own, *inputs.get(one.rank, ())))
    return to_csv(lines)


def _inputs(view: RouteView) -> dict[int, tuple[int, int, int]]:
    """Return the rows of inputs that each rank sends, receives and keeps; empty where none travel."""
    if view.traffic.inputs is None:
        return {}
    found: dict[int, tuple[int, int, int]] = {}
    for parent in view.table.parents:
        inputs = parent.inputs
        totals = None if inputs is None else inputs.totals
        for at, rank in enumerate(parent.ranks):
            found[rank] = (0, 0, 0) if totals is None else tuple(rows[at] for rows in totals)  # type: ignore[assignment]
    return found


def render_rank(view: RouteView, rank: int | None) -> str:
    """Return what one rank sends, receives and hands over, or (None) each, with the rank in front."""
    if rank is not None:
        return to_csv([_COLUMNS, *_rows(view, rank)])
    lines = ([each, *line] for each in every_rank(view) for line in _rows(view, each))
    return to_csv([("rank", *_COLUMNS), *lines])


def _rows(view: RouteView, rank: int) -> list[list[object]]:
    """Return what one rank sends, receives and hands over."""
    lines: list[list[object]] = []
    route = view.table.rank_route(rank)
    if route is None:
        return lines
    for what, entries in (("send", route.sends), ("receive", route.receives)):
        offset = 0
        for peer, item, start, stop in entries:
            lines.append([what, route.group_ranks[peer], item, start, stop, offset])
            offset += stop - start
    lines.extend(["hand_over", "", item, start, stop, at] for item, start, stop, at in route.hand_over)
    return lines


def to_csv(lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV with newlines alone."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()
