"""Findings as JSON Lines: one object, one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.findings.base import dump, locate
from hpplan.reports.findings.json_list import finding_data

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return a line for each finding; nothing where nothing was found."""
    return "".join(f"{dump(finding_data(finding))}\n" for finding in locate(diagnostics, sources))
