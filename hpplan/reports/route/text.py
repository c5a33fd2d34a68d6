"""The routing table for people: facts, ranks, a shaded matrix, totals and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.route.facts import setting_of, totals_of, verdict_of
from hpplan.reports.route.matrix import shaded_matrix
from hpplan.reports.route.view import busiest
from hpplan.reports.terminal.quantities import size
from hpplan.reports.terminal.screen import stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.traffic import RankTraffic

MOST_RANKS = 64
"""Ranks up to which each has its line; of more, the busiest are shown."""

BUSIEST = 16
MOST_SPLITS = 16
"""Ranks of a parent up to which splits are spelled out."""


def render(view: RouteView, screen: Screen) -> str:
    """Return the whole table as text."""
    ranks = view.table.mesh.parent_size
    parts = [screen.facts(verdict_of(view)), screen.facts(setting_of(view)), _ranks(view, screen)]
    if 1 < ranks <= MOST_SPLITS:
        parts.append(_splits(view, screen))
    if ranks > 1:
        parts.append(shaded_matrix(view, screen))
    parts.append(screen.facts(totals_of(view)))
    if view.warnings:
        parts.append("Warnings\n" + screen.facts([(one.code.id, one.message) for one in view.warnings]))
    return stacked(parts)


def render_rank(view: RouteView, rank: int | None, screen: Screen) -> str:
    """Return the part of one rank, or (None) of each."""
    from hpplan.reports.route.rank import rank_text

    return rank_text(view, rank, screen)


def _ranks(view: RouteView, screen: Screen) -> str:
    everyone = list(view.traffic.per_rank())
    title = "Rows per rank"
    shown = everyone
    if view.alike and len(view.table.parents) > 1:
        ranks = set(view.table.parents[0].ranks)
        shown = [one for one in everyone if one.rank in ranks]
        title += f" (the first of {len(view.table.parents)} replicas, all alike)"
    if len(shown) > MOST_RANKS:
        title = f"Rows per rank: the {BUSIEST} busiest of {len(shown):,}; --format csv lists all"
        shown = busiest(shown, BUSIEST)
    axes = ("dp", "cp", "tp") if view.table.mesh.pool > 1 else ("cp", "tp")
    headers = ("rank", ",".join(axes), *_RANK_HEADERS)
    return screen.table(title, headers, [_rank_cells(view, axes, one) for one in shown], range(9))


_RANK_HEADERS = ("items", "encoded", "sent", "received", "kept", "send buf", "recv buf")


def _rank_cells(view: RouteView, axes: Sequence[str], one: RankTraffic) -> list[str]:
    row_bytes = view.traffic.row_bytes
    at = view.table.mesh.coordinates(one.rank)
    return [
        str(one.rank),
        ",".join(str(at[axis]) for axis in axes),
        f"{one.items:,}",
        f"{one.produced:,}",
        f"{one.sent:,}",
        f"{one.received:,}",
        f"{one.kept:,}",
        size(one.send_buffer * row_bytes),
        size(one.receive_buffer * row_bytes),
    ]


def _splits(view: RouteView, screen: Screen) -> str:
    lines: list[list[str]] = []
    seen: set[int] = set()
    for ranks, routes in view.table.parents:
        if id(routes) in seen or len(lines) >= MOST_RANKS:
            continue
        seen.add(id(routes))
        matrix = routes.matrix()
        lines.extend(
            [
                str(rank),
                " ".join(map(str, matrix[at])),
                " ".join(str(line[at]) for line in matrix),
            ]
            for at, rank in enumerate(ranks)
        )
    return screen.table(
        "Splits in rows, by parent rank", ("rank", "input splits (to)", "output splits (from)"), lines, (0,)
    )
