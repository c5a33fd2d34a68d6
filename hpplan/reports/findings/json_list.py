"""Findings as one JSON list of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.reports.findings.base import dump, locate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources
    from hpplan.reports.findings.base import Finding


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return the list, sorted by file, line, column and code."""
    items = [finding_data(finding) for finding in locate(diagnostics, sources)]
    return dump(items, indent=2) + "\n"


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return one finding as JSON-safe data; `path` leads to the node in the document."""
    item = finding.diagnostic
    return {
        "file": item.place.document,
        "line": finding.position[0],
        "column": finding.position[1],
        "code": item.code.id,
        "name": item.code.name,
        "severity": item.level,
        "message": item.message,
        "hint": item.hint,
        "path": list(item.place.path),
        "related": [
            {
                "file": place.document,
                "line": position[0],
                "column": position[1],
                "path": list(place.path),
                "note": place.note,
            }
            for place, position in finding.related
        ],
    }
