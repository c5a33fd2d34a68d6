"""What each pass did and why: a table on a terminal, plain or JSON text elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hpplan.reports.tables import plain_table, terminal_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.passes.change import Change

_HEADERS = ("pass", "FQN", "field", "before", "after", "why")


def render_json(documents: Sequence[tuple[str, Sequence[Change]]]) -> str:
    """Return a JSON list with one object for each plan: its name and its changes."""
    content = [
        {"plan": name, "changes": [_as_data(change) for change in changes]} for name, changes in documents
    ]
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def render_plain(name: str, changes: Sequence[Change]) -> str:
    """Return aligned columns under a line that names the plan and counts the changes."""
    summary = f"{name}: {summarize(changes)}\n"
    return summary + plain_table(_HEADERS, [_row(change) for change in changes]) if changes else summary


def render_terminal(name: str, changes: Sequence[Change], *, color: bool) -> str:
    """Return a table for each pass, with the changes of one cause under one sentence."""
    text = f"{name}: {summarize(changes)}\n"
    for pass_name in dict.fromkeys(change.cause.pass_name for change in changes):
        mine = [change for change in changes if change.cause.pass_name == pass_name]
        text += "\n" + terminal_table(
            _HEADERS[1:], [_row(change)[1:] for change in mine], title=pass_name, color=color
        )
    return text


def summarize(changes: Sequence[Change]) -> str:
    """Count what the passes did: `3 boundaries stripped (ep-strip 2, …), 1 marked`."""
    stripped = {
        change.fqn: change.cause.pass_name for change in changes if change.field != "skip_source_lowering"
    }
    marked = sum(change.field == "skip_source_lowering" for change in changes)
    parts = []
    if stripped:
        by_pass = [
            f"{name} {list(stripped.values()).count(name)}" for name in dict.fromkeys(stripped.values())
        ]
        noun = "boundary" if len(stripped) == 1 else "boundaries"
        parts.append(f"{len(stripped)} {noun} stripped ({', '.join(by_pass)})")
    if marked:
        parts.append(f"{marked} marked (shared-class-mark)")
    return ", ".join(parts) or "nothing to change"


def _row(change: Change) -> tuple[str, ...]:
    return (
        change.cause.pass_name,
        change.fqn,
        change.field,
        spell(change.before),
        spell(change.after),
        change.cause.why,
    )


def spell(value: object) -> str:
    """Spell a field's value as a document does; a field that is not there is a dash."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)


def _as_data(change: Change) -> dict[str, Any]:
    cause = change.cause
    return {
        "pass": cause.pass_name,
        "fqn": change.fqn,
        "field": change.field,
        "before": change.before,
        "after": change.after,
        "rule": cause.rule,
        "pattern": cause.pattern,
        "below": cause.below,
        "why": cause.why,
    }
