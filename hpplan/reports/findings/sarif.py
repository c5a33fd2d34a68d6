"""Findings as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.reports.findings.base import dump, fingerprints, locate, uri_of, with_hint
from hpplan.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Code, Diagnostic, Place, Position
    from hpplan.documents.source import Sources
    from hpplan.reports.findings.base import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return a log with one run; its rules are those of the findings, by id."""
    findings = locate(diagnostics, sources)
    codes = sorted({finding.diagnostic.code for finding in findings}, key=lambda code: code.id)
    index = {code: number for number, code in enumerate(codes)}
    run = {
        "tool": {
            "driver": {
                "name": "hpplan",
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": [
            _result(finding, index[finding.diagnostic.code], fingerprint)
            for finding, fingerprint in zip(findings, fingerprints(findings, sources), strict=True)
        ],
    }
    return dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: Code) -> dict[str, Any]:
    summary = " ".join(code.doc.partition("\n")[2].partition("\n\n")[0].split())
    return {
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": code.name.replace("-", " ")},
        "fullDescription": {"text": summary},
        "help": {"text": code.doc, "markdown": code.doc},
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
    }


def _result(finding: Finding, rule_index: int, fingerprint: str) -> dict[str, Any]:
    item = finding.diagnostic
    result: dict[str, Any] = {
        "ruleId": item.code.id,
        "ruleIndex": rule_index,
        "level": _LEVELS[item.level],
        "message": {"text": with_hint(item)},
        "locations": [_location(item.place, finding.position)],
        "partialFingerprints": {"hpplanFinding/v1": fingerprint},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": place.note or "related"}, **_location(place, position)}
            for number, (place, position) in enumerate(finding.related, start=1)
        ]
    return result


def _location(place: Place, position: Position) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri_of(place.document)},
            "region": {"startLine": position[0], "startColumn": position[1]},
        }
    }
