"""The formats of `hpplan route`, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen


class RouteFormat(NamedTuple):
    """How a routing table, and a rank's part of it (None: each rank's), are written.

    `suffixes` choose it for `-o`. A table that is `timed` shows a time estimate
    of a link, and one `by_node` what leaves a node.
    """

    name: str
    suffixes: tuple[str, ...]
    table: Callable[[RouteView, Screen], str]
    rank: Callable[[RouteView, int | None, Screen], str] | None
    timed: bool
    by_node: bool


def _text(view: RouteView, screen: Screen) -> str:
    from hpplan.reports.route.text import render

    return render(view, screen)


def _rank_text(view: RouteView, rank: int | None, screen: Screen) -> str:
    from hpplan.reports.route.rank import every_rank_text, rank_text

    return every_rank_text(view, screen) if rank is None else rank_text(view, rank, screen)


def _rank_data(view: RouteView, rank: int | None) -> dict[str, Any]:
    from hpplan.reports.route.rank import every_rank_data, rank_data

    return every_rank_data(view) if rank is None else rank_data(view, rank)


def _data(view: RouteView) -> dict[str, Any]:
    from hpplan.routing.routes_writer import routes_to_data

    return routes_to_data(view.table, view.link)


def _json(view: RouteView, screen: Screen) -> str:
    from hpplan.documents.writer import dump_json

    del screen
    return dump_json(_data(view))


def _rank_json(view: RouteView, rank: int | None, screen: Screen) -> str:
    from hpplan.documents.writer import dump_json

    del screen
    return dump_json(_rank_data(view, rank))


def _yaml(view: RouteView, screen: Screen) -> str:
    from hpplan.documents.writer import dump_yaml
    from hpplan.routing.routes_shape import KEY_ORDER

    del screen
    return dump_yaml(_data(view), KEY_ORDER)


def _rank_yaml(view: RouteView, rank: int | None, screen: Screen) -> str:
    from hpplan.documents.writer import dump_yaml

    del screen
    return dump_yaml(_rank_data(view, rank))


def _csv(view: RouteView, screen: Screen) -> str:
    from hpplan.reports.route.csv import render

    del screen
    return render(view)


def _rank_csv(view: RouteView, rank: int | None, screen: Screen) -> str:
    from hpplan.reports.route.csv import to_csv
    from hpplan.reports.route.rank import every_rank_rows, rank_rows

    del screen
    return to_csv(every_rank_rows(view) if rank is None else rank_rows(view, rank))


def _html(view: RouteView, screen: Screen) -> str:
    from hpplan.reports.route.html import render

    del screen
    return render(view)


def _svg(view: RouteView, screen: Screen) -> str:
    from hpplan.reports.route.svg import render

    del screen
    return render(view)


FORMATS: tuple[RouteFormat, ...] = (
    RouteFormat("table", (), _text, _rank_text, timed=True, by_node=True),
    RouteFormat("json", (".json",), _json, _rank_json, timed=True, by_node=False),
    RouteFormat("yaml", (".yaml", ".yml"), _yaml, _rank_yaml, timed=True, by_node=False),
    RouteFormat("csv", (".csv",), _csv, _rank_csv, timed=False, by_node=False),
    RouteFormat("html", (".html", ".htm"), _html, None, timed=True, by_node=True),
    RouteFormat("svg", (".svg",), _svg, None, timed=False, by_node=True),
)
"""Every format; the first is the default."""


def format_of(name: str | None, path: str | None) -> RouteFormat:
    """Return the format of that name, else the one that a file's name asks for, else the default."""
    if name is not None:
        return next(one for one in FORMATS if one.name == name)
    return next((one for one in FORMATS if path and path.endswith(one.suffixes or "/")), FORMATS[0])
