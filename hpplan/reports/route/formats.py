"""The formats of `hpplan route`, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.late import imported

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.statistics import Statistics


class RouteFormat(NamedTuple):
    """A format, and the module of this package whose `render` writes a routing table in it.

    The module of that name in `reports/micro_batches` writes statistics over many, and several meshes.
    One `by_rank` has a `render_rank` as well. What is `drawn` depends on where
    it is shown. `suffixes` choose a format for `-o`. A table that is `timed`
    shows a time estimate of a link, and one `by_node` what leaves a node.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str
    by_rank: bool = False
    timed: bool = False
    by_node: bool = False
    drawn: bool = False

    def table(self, view: RouteView, screen: Screen) -> str:
        """Return the whole table."""
        return self._rendered("render", view, screen)

    def rank(self, view: RouteView, rank: int | None, screen: Screen) -> str:
        """Return the part of one rank, or (None) of each."""
        return self._rendered("render_rank", view, rank, screen)

    def statistics(self, found: Statistics, screen: Screen) -> str:
        """Return statistics over micro-batches."""
        return self._rendered("render", found, screen, room="micro_batches")

    def meshes(self, found: Meshes, screen: Screen) -> str:
        """Return meshes side by side."""
        return self._rendered("render_meshes", found, screen, room="micro_batches")

    def _rendered(self, name: str, *given: object, room: str = "route") -> str:
        render = imported(f"hpplan.reports.{room}.{self.module}", name)
        return str(render(*given) if self.drawn else render(*given[:-1]))


FORMATS: tuple[RouteFormat, ...] = (
    RouteFormat("table", (), "text", by_rank=True, timed=True, by_node=True, drawn=True),
    RouteFormat("json", (".json",), "json", by_rank=True, timed=True),
    RouteFormat("yaml", (".yaml", ".yml"), "yaml", by_rank=True, timed=True),
    RouteFormat("csv", (".csv",), "csv", by_rank=True),
    RouteFormat("html", (".html", ".htm"), "html", timed=True, by_node=True),
    RouteFormat("svg", (".svg",), "svg", by_node=True),
)
"""Every format; the first is the default."""


def format_of(name: str | None, path: str | None) -> RouteFormat:
    """Return the format of that name, else the one that a file's name asks for, else the default."""
    if name is not None:
        return next(one for one in FORMATS if one.name == name)
    return next((one for one in FORMATS if path and path.endswith(one.suffixes or "/")), FORMATS[0])
