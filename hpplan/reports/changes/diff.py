"""A comparison of two documents, for people and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hpplan.comparison.changes import ABSENT, Placements
from hpplan.reports.findings.base import dump
from hpplan.reports.terminal.paint import BOLD, DIM, GREEN, RED, YELLOW, paint
from hpplan.reports.terminal.visible import visible
from hpplan.shapes.answer import Answer
from hpplan.shapes.shape import ANYTHING, FLAG, TEXT, TEXTS, Field, count, list_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.comparison.changes import Differences, FieldChange


CHANGE = Answer(
    None,
    Field("field", TEXT, "The field, by its dotted path."),
    Field("before", ANYTHING, "Its value in the first document; not there where it has none."),
    Field("after", ANYTHING, "Its value in the second document; not there where it has none."),
    optional=("before", "after"),
)
NAMES = Answer(
    None,
    Field("names", TEXTS, "Names that changed in the same way, folded over layers."),
    Field("count", count(1), "How many names these are."),
    Field("changes", list_of(CHANGE), "What changed of each."),
)
DIFFERENCES = Answer(
    None,
    Field("before", TEXT, "The first document, as it was named."),
    Field("after", TEXT, "The second document, as it was named."),
    Field("equal", FLAG, "Whether the two mean the same."),
    Field("removed", TEXTS, "Names that only the first has, folded over layers."),
    Field("added", TEXTS, "Names that only the second has, folded over layers."),
    Field("changed", list_of(NAMES), "Names that both have, and that changed."),
    Field("fields", list_of(CHANGE), "Fields of the documents themselves that changed."),
)
"""What `hpplan diff --format json` answers."""


def render_text(before: str, after: str, comparison: Differences, *, color: bool = False) -> str:
    """Return a line for each difference, under the names of the documents; nothing where there is none."""
    if comparison.equal:
        return ""
    lines = _lines(before, after, comparison)
    return "".join(f"{paint(visible(line), *_styles(line), color=color)}\n" for line in lines)


def would_change(name: str, differences: Differences, *, color: bool = False) -> str:
    """Return what normalizing a document whose text is not the normalized one would change of its meaning."""
    if differences.equal:
        said = "its text would change (spelling, line ends, comments or record; see --diff), its meaning not"
        return f"{name}: {said}\n"
    return render_text(name, f"{name} (normalized)", differences, color=color)


def _styles(line: str) -> tuple[str, ...]:
    if line.startswith(("--- ", "+++ ")):
        return (BOLD,)
    return {"-": (RED,), "+": (GREEN,), "~": (YELLOW,)}.get(line[0], (DIM,))


def _lines(before: str, after: str, comparison: Differences) -> Iterator[str]:
    yield f"--- {before}"
    yield f"+++ {after}"
    yield from (f"- {name}" for name in comparison.removed)
    yield from (f"+ {name}" for name in comparison.added)
    for group in comparison.changed:
        yield from (f"~ {name}" for name in group.names)
        yield from (f"    {_change(change)}" for change in group.changes)
    yield from (f"~ {_change(change)}" for change in comparison.fields)


def _change(change: FieldChange) -> str:
    return f"{change.field}: {_value(change.before)} -> {_value(change.after)}"


def _value(value: Any) -> str:  # noqa: ANN401 - document data
    if value is ABSENT:
        return "(absent)"
    if isinstance(value, str | Placements):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def render_json(before: str, after: str, comparison: Differences) -> str:
    """Return one object; a value that a side does not have is not there either."""
    changed = [
        NAMES.of(names=group.names, count=group.size, changes=[_data(one) for one in group.changes])
        for group in comparison.changed
    ]
    fields = [_data(change) for change in comparison.fields]
    data = DIFFERENCES.of(comparison, before=before, after=after, changed=changed, fields=fields)
    return dump(data, indent=2) + "\n"


def _data(change: FieldChange) -> dict[str, Any]:
    data = {"field": change.field, "before": change.before, "after": change.after}
    return {key: value for key, value in data.items() if value is not ABSENT}
