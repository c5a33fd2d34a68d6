"""Names that options and arguments take, looked up where they are declared once one is typed or completed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem


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

    def get_metavar(self, *_: Any, **__: Any) -> str:  # noqa: ANN401 - click's own, and not always the same
        """Return the names as click shows a choice."""
        return f"[{'|'.join(self._described())}]"

    def get_missing_message(self, *_: Any, **__: Any) -> str:  # noqa: ANN401 - click's own, and not always the same
        """Name what there is where none was given."""
        return f"It is one of {', '.join(self._described())}."

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with a word."""
        return [
            CompletionItem(name, help=words or None)
            for name, words in self._described().items()
            if name.startswith(incomplete)
        ]


def _policies() -> dict[str, str]:
    from hpplan.routing.assignment import POLICIES

    return {policy.name: policy.summary for policy in POLICIES}


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


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the codes whose id or name begins with a word; `A,B` completes its last part.

    Where nothing is typed yet, these are the ids.
    """
    from hpplan.validation.catalog import all_codes

    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{text}", help=other)
        for code in all_codes()
        for text, other in ((code.id, code.name), (code.name, code.id))
        if text.lower().startswith(word.lower()) and (word or text == code.id)
    ]


def complete_code_or_file(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the codes that begin with a word, and let the shell complete files as well."""
    codes = complete_codes(ctx, param, incomplete) if incomplete else []
    # bash forgets what came before the word for files.
    return [CompletionItem(incomplete, type="file"), *codes]


def complete_passes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the passes that begin with a word; `A,B` completes its last part with what is not in it yet."""
    from hpplan.passes.pipeline import PASSES

    before, comma, word = incomplete.rpartition(",")
    names = [step.name for step in PASSES if step.name not in before.split(",")]
    if param.name == "print_after":
        names.append("all")
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(word)]
