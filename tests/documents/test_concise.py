"""Findings as lines of text."""

from __future__ import annotations

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.source import Source, Sources
from hpplan.reports.findings.concise import render

CODE = Code("HP999", "some-fault", "error", "")


def test_render() -> None:
    """Editors and people would not find file, line, column, code and severity where they look for them."""
    sources = Sources()
    sources.add(Source("plan.yaml", "a: 1\nb: 2\n", "yaml"))
    findings = [
        Diagnostic(CODE, "second", Place("plan.yaml", ("b",)), hint="do this", severity="warning"),
        Diagnostic(
            CODE,
            "first",
            Place("plan.yaml", ("a",), on_key=True),
            related=(Place("plan.yaml", ("b",), note="see"),),
        ),
    ]
    assert render(findings, sources) == (
        "plan.yaml:1:1: HP999 error: first\n"
        "  note: plan.yaml:2:4: see\n"
        "plan.yaml:2:4: HP999 warning: second\n"
        "  hint: do this\n"
    )
    assert render([], sources) == ""


def test_text_from_documents_stays_on_its_line() -> None:
    """A document could move the cursor of a terminal, or fake a finding."""
    text = render([Diagnostic(CODE, "\x1b[31m\nfake\u202e\udcff [bold]", Place("a\nb"))], Sources())
    assert text == "a\\nb:1:1: HP999 error: \\x1b[31m\\nfake\\u202e\\udcff [bold]\n"
