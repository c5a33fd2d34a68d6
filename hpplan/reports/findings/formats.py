"""The formats of a report of findings, one file each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hpplan.late import imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources


class FindingFormat(NamedTuple):
    """One way to write findings: the module of this package that does, and whether people read it.

    What people read has colours on a terminal, and a summary below; all others are for machines.
    """

    module: str
    for_people: bool = False


FORMATS = {
    "full": FindingFormat("full", for_people=True),
    "concise": FindingFormat("concise", for_people=True),
    "json": FindingFormat("json_list"),
    "jsonl": FindingFormat("json_lines"),
    "github": FindingFormat("github"),
    "gitlab": FindingFormat("gitlab"),
    "junit": FindingFormat("junit"),
    "sarif": FindingFormat("sarif"),
}
"""Every format by its name; the first is the default."""


class Renderer(Protocol):
    """A function from findings to text."""

    def __call__(self, diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
        """Return the report, complete even where nothing was found."""


def renderer(name: str, *, color: bool = False) -> Renderer:
    """Return the renderer of a format; only what people read is ever coloured."""
    chosen = FORMATS[name]
    render: Callable[..., str] = imported(f"hpplan.reports.findings.{chosen.module}", "render")
    return partial(render, color=color) if chosen.for_people else render
