"""The formats of a report of findings, one file each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from hpplan.late import imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources

FORMATS = {
    "full": "full",
    "concise": "concise",
    "json": "json_list",
    "jsonl": "json_lines",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "sarif": "sarif",
}
"""Each format with the module of this package that renders it; the first is the default."""

TEXT_FORMATS = ("full", "concise")
"""What people read; all others are for machines."""


class Renderer(Protocol):
    """A function from findings to text."""

    def __call__(self, diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
        """Return the report, complete even where nothing was found."""


def renderer(name: str, *, color: bool = False) -> Renderer:
    """Return the renderer of a format; only what people read is ever coloured."""
    render: Callable[..., str] = imported(f"hpplan.reports.findings.{FORMATS[name]}", "render")
    return partial(render, color=color) if name in TEXT_FORMATS else render
