"""The routing table, and the parts of its ranks, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.documents.writer import dump_json
from hpplan.reports.route.rank import rank_data

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView


def render(view: RouteView) -> str:
    """Return the table, as an input of `hpplan exec`."""
    return dump_json(view.to_data())


def render_rank(view: RouteView, rank: int | None) -> str:
    """Return the part of one rank, or (None) of each."""
    return dump_json(rank_data(view, rank))
