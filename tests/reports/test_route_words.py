"""Numbers and their words agree in everything that is said about routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from route_views import view_of

from hpplan.reports.route import html as route_html
from hpplan.reports.route import rank as route_rank
from hpplan.reports.route import ribbon as route_ribbon
from hpplan.reports.route import text as route_text
from hpplan.reports.terminal.screen import Screen

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView

ONE_OF_MANY = re.compile(
    r"(?<![\w.,-])1 (?:more |other |busiest )?"
    r"(?:rows|ranks|items|tokens|replicas|entries|pairs"
    r"|(?:(?:CP|batch) )?\w+ (?:with images )?(?:are|do|have|exchange|leave)\b)"
)
"""`1 rows`, `1 more replica are not drawn`."""


def texts(view: RouteView) -> list[str]:
    """Return what people read about a table."""
    ranks = range(view.table.mesh.world_size)
    pages = [route_html.render(view), route_text.render(view, Screen())]
    pages += [route_rank.rank_text(view, rank, Screen()) for rank in ranks]
    shown = [re.sub(r'<[^>]*aria-label="([^"]*)"[^>]*>', r"\1\n", page) for page in pages]
    return [re.sub(r"<[^>]*>", " ", page) for page in shown]


@pytest.mark.parametrize(
    ("mesh", "items", "fields"),
    [
        ("", [(0, 0, 1)], {}),
        ("cp=2", [(0, 0, 1)], {"buckets": [[], [0]]}),
        ("cp=2,tp=2", [(0, 0, 1)], {}),
        ("cp=33", [(row, 0, 1) for row in range(17)], {}),
        ("cp=2,tp=2,sp", [(0, 0, 8)], {"destinations": {0: [0]}}),
    ],
    ids=["alone", "one row leaves", "one other rank", "one more of all", "owners left out"],
)
def test_one_is_singular(mesh: str, items: list[tuple[int, int, int]], fields: dict[str, object]) -> None:
    """A message says `1 rows`, or `1 more CP rank are not drawn`."""
    for text in texts(view_of(mesh or "dp=1", items, 264, **fields)):
        assert ONE_OF_MANY.findall(text) == []


def test_what_is_not_drawn_is_counted() -> None:
    """What a page leaves out is not said, or with the wrong number."""
    view = view_of("cp=33", [(row, 0, 1) for row in range(17)], 264)
    page = route_ribbon.ribbons(view)
    assert "<p>Not drawn: 1 more batch row with images.</p>" in page
    assert "<p>Not drawn: 1 more CP rank.</p>" in page
    own = [{"items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 1}]}] * 6
    several = view_of("dp=6", [], 264, replicas=own)
    assert "<p>Not drawn: 2 more replicas.</p>" in route_ribbon.ribbons(several)
    crowd = view_of("cp=1", [(0, 2 * at, 1) for at in range(route_ribbon.MOST_PIECES + 1)], 8192)
    assert "<p>Not drawn: 1 more item of batch row 0.</p>" in route_ribbon.ribbons(crowd)
