"""The routing table as CSV: a line for each rank."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

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


def render(view: RouteView) -> str:
    """Return a line for each rank that exchanges, by global rank; rows sent and received are others'."""
    mesh, size = view.table.mesh, view.traffic.row_bytes
    lines: list[Sequence[object]] = [HEADER]
    for one in view.traffic.per_rank():
        at = mesh.coordinates(one.rank)
        buffers = ((one.sent + one.kept) * size, (one.received + one.kept) * size)
        lines.append((one.rank, at["dp"], at["cp"], at["tp"], *one[1:], *buffers))
    return to_csv(lines)


def to_csv(lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV with newlines alone."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()
