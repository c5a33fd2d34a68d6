"""Findings as GitHub Actions workflow commands, which become annotations of the changed files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.findings.base import locate, relative_path
from hpplan.reports.terminal.visible import visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources
    from hpplan.reports.findings.base import Finding

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return one command for each finding; nothing where nothing was found."""
    return "".join(_command(finding) for finding in locate(diagnostics, sources))


def _command(finding: Finding) -> str:
    item, (line, column) = finding.diagnostic, finding.position
    # GitHub takes columns only where an annotation begins and ends on one line.
    properties = {
        "file": relative_path(item.place.document),
        "line": str(line),
        "endLine": str(line),
        "col": str(column),
        "title": finding.title,
    }
    told = ",".join(
        f"{name}={visible_lines(value).translate(_PROPERTY)}" for name, value in properties.items()
    )
    text = item.message
    for place, position in finding.related:
        text += f"\n{place.document}:{position[0]}:{position[1]}: {place.note or 'related'}"
    if item.hint:
        text += f"\nhint: {item.hint}"
    return f"::{_COMMANDS[item.level]} {told}::{visible_lines(text).translate(_DATA)}\n"
