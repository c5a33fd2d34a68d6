"""The formats of a report of findings, one file each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def renderer(name: str) -> Renderer:
    """Return the renderer of a format."""
    render: Renderer = importlib.import_module(f"hpplan.reports.findings.{FORMATS[name]}").render
    return render
