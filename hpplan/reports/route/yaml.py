"""The routing table, and the parts of its ranks, as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.documents.writer import dump_yaml
from hpplan.reports.route.rank import rank_data
from hpplan.routing.routes_shape import KEY_ORDER

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView


def render(view: RouteView) -> str:
    """Return the table, as an input of `hpplan exec`."""
    return dump_yaml(view.to_data(), KEY_ORDER)


def render_rank(view: RouteView, rank: int | None) -> str:
    """Return the part of one rank, or (None) of each."""
    return dump_yaml(rank_data(view, rank))
