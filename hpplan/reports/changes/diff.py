"""A comparison of two documents, for people and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hpplan.comparison.changes import ABSENT, Layout
from hpplan.reports.findings.base import dump
from hpplan.reports.terminal.paint import BOLD, DIM, GREEN, RED, YELLOW, paint
from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.comparison.changes import Differences, FieldChange


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
    if isinstance(value, str | Layout):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def render_json(before: str, after: str, comparison: Differences) -> str:
    """Return one object; a value that a side does not have is not there either."""
    data = {
        "before": before,
        "after": after,
        "equal": comparison.equal,
        "removed": list(comparison.removed),
        "added": list(comparison.added),
        "changed": [
            {
                "names": list(group.names),
                "count": group.size,
                "changes": [_data(change) for change in group.changes],
            }
            for group in comparison.changed
        ],
        "fields": [_data(change) for change in comparison.fields],
    }
    return dump(data, indent=2) + "\n"


def _data(change: FieldChange) -> dict[str, Any]:
    data = {"field": change.field, "before": change.before, "after": change.after}
    return {key: value for key, value in data.items() if value is not ABSENT}
