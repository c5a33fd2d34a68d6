"""Rules that normalizing warns about: unresolved targets, no match, another class."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import RESOLUTION, Subject
from hpplan.plan.codes import OTHER_CLASS, UNMATCHED_RULE, UNRESOLVED_TARGET

CODES: tuple[Code, ...] = (UNRESOLVED_TARGET, UNMATCHED_RULE, OTHER_CLASS)
READS: tuple[str, ...] = (*RESOLUTION, "not_covered", "remote_siblings")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the warnings that `hpplan normalize` gives about the rules."""
    yield from subject.normalized.warnings
