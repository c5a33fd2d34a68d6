"""Findings as a JUnit report: a suite for each file, a failed case for each finding, or one that passed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from hpplan.reports.findings.base import locate, with_hint
from hpplan.reports.terminal.visible import visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources
    from hpplan.reports.findings.base import Finding


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return the report: of every document that was read, and of what is named in a finding."""
    findings: dict[str, list[Finding]] = {name: [] for name in sources.names}
    for finding in locate(diagnostics, sources):
        findings.setdefault(finding.diagnostic.place.document, []).append(finding)
    suites = [_suite(name, found) for name, found in sorted(findings.items())] or [_suite("hpplan", [])]
    failures = sum(map(len, findings.values()))
    tests = sum(len(found) or 1 for found in findings.values()) or 1
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites name="hpplan" tests="{tests}" failures="{failures}" errors="0">\n'
        f"{''.join(suites)}</testsuites>\n"
    )


def _suite(name: str, findings: list[Finding]) -> str:
    count = len(findings)
    cases = "".join(_case(name, finding) for finding in findings)
    return (
        f'  <testsuite name={_attribute(name)} tests="{count or 1}" failures="{count}" errors="0">\n'
        f"{cases or _passed(name)}  </testsuite>\n"
    )


def _passed(name: str) -> str:
    return f'    <testcase name="no findings" classname={_attribute(name)} time="0"/>\n'


def _case(name: str, finding: Finding) -> str:
    item, (line, column) = finding.diagnostic, finding.position
    where = f"{name}:{line}:{column}"
    text = [f"{where}: {item.code.id} {item.level}: {item.message}"]
    text += [f"{place.document}:{at[0]}:{at[1]}: {place.note or 'related'}" for place, at in finding.related]
    if item.hint:
        text.append(f"hint: {item.hint}")
    return (
        f"    <testcase name={_attribute(f'{finding.title} {line}:{column}')} classname={_attribute(name)} "
        f'time="0">\n'
        f'      <failure type="{item.level}" message={_attribute(with_hint(item))}>'
        f"{escape(visible_lines(chr(10).join(text)))}</failure>\n"
        "    </testcase>\n"
    )


def _attribute(text: str) -> str:
    # What is not printable XML cannot hold, or readers turn it into something else, or terminals obey it.
    return quoteattr(visible_lines(text))
