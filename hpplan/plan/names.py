"""Names and patterns in plans and rules, and the codes of findings about the shape of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.plan.codes import MISSING_FIELD, MISTYPED_FIELD, NAME_TOO_LONG
from hpplan.shapes.findings import Codes
from hpplan.shapes.shape import list_of, text, told

LONGEST_NAME = 1000
"""Characters of a name or pattern: findings, changes and records repeat it for each module concerned."""

SHAPE_CODES = Codes(missing=MISSING_FIELD, mistyped=MISTYPED_FIELD)
"""Of plans, rules and strategies."""


def name_too_long(place: Place) -> Diagnostic:
    """Return the finding about a name or pattern that is too long."""
    message = f"a name or pattern of more than {LONGEST_NAME:,} characters"
    return Diagnostic(NAME_TOO_LONG, message, place)


NAME = told(text(most=LONGEST_NAME), string_too_long=lambda _name, _found, place: name_too_long(place))
NAMES = list_of(NAME)


def sound_records(
    data: Mapping[str, Any], field: str, faults: Iterable[Diagnostic], place: Place
) -> list[tuple[int, dict[str, Any]]]:
    """Return the records of a list that no fault is about, each with its index."""
    broken = {fault.place.path[len(place.path) :][:2] for fault in faults}
    if () in broken or (field,) in broken:
        return []
    return [pair for pair in enumerate(data.get(field) or ()) if (field, pair[0]) not in broken]
