"""Findings as a GitLab code quality report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.findings.base import dump, fingerprints, locate, relative_path, with_hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return the report: a JSON list, empty where nothing was found."""
    findings = locate(diagnostics, sources)
    issues = [
        {
            "description": f"{finding.title}: {with_hint(finding.diagnostic)}",
            "check_name": finding.diagnostic.code.name,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.diagnostic.level],
            "location": {
                "path": relative_path(finding.diagnostic.place.document),
                "lines": {"begin": finding.position[0]},
            },
        }
        for finding, fingerprint in zip(findings, fingerprints(findings, sources), strict=True)
    ]
    return dump(issues, indent=2) + "\n"
