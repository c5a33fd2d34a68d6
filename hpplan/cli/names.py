"""Options whose values are names, looked up where what they name is declared once one is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable


class Name(click.types.StringParamType):
    """One of several names; importing what they name takes too long for `--help`."""

    name = "name"

    def __init__(self, described: Callable[[], dict[str, str]]) -> None:
        """Take what returns the names, each with words about it or none."""
        self._described = described

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's own
        """Return the name, or fail as click does and suggest the nearest."""
        known = self._described()
        if value not in known:
            from hpplan.nearest import none_of

            self.fail(none_of(value, known), param, ctx)
        return str(value)

    def get_missing_message(self, *_: Any, **__: Any) -> str:  # noqa: ANN401 - click's own, and not always the same
        """Name what there is where none was given."""
        return f"It is one of {', '.join(self._described())}."

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with a word."""
        del ctx, param
        return [
            CompletionItem(name, help=words or None)
            for name, words in self._described().items()
            if name.startswith(incomplete)
        ]


def _policies() -> dict[str, str]:
    from hpplan.routing.assignment import POLICIES

    return {policy.name: "" for policy in POLICIES}


def _layouts() -> dict[str, str]:
    from hpplan.workload.layouts import LAYOUTS

    return {layout.name: "" for layout in LAYOUTS}


def _granularities() -> dict[str, str]:
    from hpplan.routing.transfers import GRANULARITIES

    return dict.fromkeys(GRANULARITIES, "")


def _dtypes() -> dict[str, str]:
    from hpplan.workload.shape import DTYPES

    return dict.fromkeys(DTYPES, "")


def _families() -> dict[str, str]:
    from hpplan.workload.families import FAMILIES

    return {family.name: family.summary for family in FAMILIES}


def _route_formats() -> dict[str, str]:
    from hpplan.reports.route.formats import FORMATS

    return {row.name: "" for row in FORMATS}


def _documents() -> dict[str, str]:
    from hpplan.validation.kinds import WITH_SCHEMA

    return {kind.name: kind.title for kind in WITH_SCHEMA}


POLICY = Name(_policies)
CP_LAYOUT = Name(_layouts)
GRANULARITY = Name(_granularities)
DTYPE = Name(_dtypes)
FAMILY = Name(_families)
ROUTE_FORMAT = Name(_route_formats)
DOCUMENT = Name(_documents)
