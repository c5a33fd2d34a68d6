"""Findings as one JSON list of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import SEVERITIES
from hpplan.reports.findings.base import dump, locate
from hpplan.shapes.answer import Answer
from hpplan.shapes.shape import TEXT, Field, count, list_of, literal, one_of, or_null

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources
    from hpplan.reports.findings.base import Finding


_WHERE = (
    Field("file", TEXT, "The document, as it was named."),
    Field("line", count(1), "Counted from 1."),
    Field("column", count(1), "Counted from 1, in characters."),
)
_PATH = Field(
    "path",
    list_of(one_of(TEXT, count(0), belongs="a key or an index")),
    "Keys and indices from the top of the document to the node.",
)
RELATED = Answer(None, *_WHERE, _PATH, Field("note", TEXT, "What it has to do with the finding."))
FINDING = Answer(
    None,
    *_WHERE,
    Field("code", TEXT, "Stable; `hpplan explain` tells more.", get=lambda item: item.code.id),
    Field("name", TEXT, "The code in words.", get=lambda item: item.code.name),
    Field("severity", literal(SEVERITIES), "How much it matters.", get=lambda item: item.level),
    Field("message", TEXT, "What is wrong."),
    Field("hint", or_null(TEXT), "What to do about it, where there is a likely fix."),
    _PATH,
    Field("related", list_of(RELATED), "Other places that it has to do with."),
)
FINDINGS = list_of(FINDING)
"""What `hpplan validate --output-format json` answers; a line of `jsonl` is one of them."""


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return the list, sorted by file, line, column and code."""
    items = [finding_data(finding) for finding in locate(diagnostics, sources)]
    return dump(items, indent=2) + "\n"


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return one finding as JSON-safe data; `path` leads to the node in the document."""
    item = finding.diagnostic
    related = [
        RELATED.of(place, file=place.document, line=line, column=column)
        for place, (line, column) in finding.related
    ]
    return FINDING.of(
        item,
        file=item.place.document,
        line=finding.position[0],
        column=finding.position[1],
        path=item.place.path,
        related=related,
    )
