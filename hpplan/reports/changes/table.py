"""What each pass did and why: a table on a terminal, plain or JSON text elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from hpplan.documents.natural import natural_key
from hpplan.passes.pipeline import PASSES
from hpplan.plan import folding
from hpplan.reports.terminal.folding import fold
from hpplan.reports.terminal.paint import BOLD, CYAN, paint
from hpplan.reports.terminal.tables import plain_table
from hpplan.reports.terminal.visible import visible
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.passes.change import Change, Did
    from hpplan.reports.terminal.screen import Screen

_HEADERS = ("pass", "FQN", "field", "before", "after", "why")


def render_json(documents: Sequence[tuple[str, Sequence[Change]]]) -> str:
    """Return a JSON list with one object for each plan: its name and its changes."""
    content = [
        {"plan": name, "changes": [_as_data(change) for change in _in_order(changes)]}
        for name, changes in documents
    ]
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def render(name: str, changes: Sequence[Change], screen: Screen) -> str:
    """Return what suits the screen; what is coloured is for people, on a pipe too."""
    if screen.width is None and not screen.color:
        return render_plain(name, changes)
    width = screen.width or get_terminal_size().columns
    return render_terminal(name, changes, color=screen.color, width=width)


def render_plain(name: str, changes: Sequence[Change]) -> str:
    """Return aligned columns under a line that names the plan and counts the changes."""
    summary = f"{name}: {summarize(changes)}\n"
    return (
        summary + plain_table(_HEADERS, [_row(change) for change in _in_order(changes)])
        if changes
        else summary
    )


def render_terminal(name: str, changes: Sequence[Change], *, color: bool, width: int) -> str:
    """Return what each pass did, folded over layers: modules, their fields, and one sentence that says why.

    Sentences are wrapped at `width` columns; names are never cut.
    """
    lines = [f"{visible(name)}: {summarize(changes)}"]
    shown = None
    for (pass_name, why, fields), fqns in _groups(changes).items():
        if pass_name != shown:
            lines += ["", paint(pass_name, BOLD, color=color)]
            shown = pass_name
        lines += [f"  {paint(visible(pattern), CYAN, color=color)}" for pattern in folding.fold(fqns)]
        widths = [max(len(field[column]) for field in fields) for column in range(2)]
        lines += [
            f"    {visible(field):<{widths[0]}}  {visible(before):<{widths[1]}} -> {visible(after)}"
            for field, before, after in fields
        ]
        lines.append(fold(visible(why), width, "    "))
    return "\n".join(lines) + "\n"


_Group = tuple[str, str, tuple[tuple[str, str, str], ...]]


def _groups(changes: Sequence[Change]) -> dict[_Group, list[str]]:
    """Gather the FQNs to which one pass did the same for the same reason, in the order of the passes."""
    by_fqn: dict[tuple[str, str, str], list[tuple[str, str, str]]] = {}
    for change in changes:
        key = (change.cause.pass_name, change.cause.why, change.fqn)
        by_fqn.setdefault(key, []).append((change.field, spell(change.before), spell(change.after)))
    groups: dict[_Group, list[str]] = {}
    for (pass_name, why, fqn), fields in by_fqn.items():
        groups.setdefault((pass_name, why, tuple(fields)), []).append(fqn)
    return groups


def _in_order(changes: Sequence[Change]) -> list[Change]:
    """Sort by FQN in natural order within each pass."""
    order = list(dict.fromkeys(change.cause.pass_name for change in changes))
    return sorted(
        changes,
        key=lambda change: (order.index(change.cause.pass_name), natural_key(change.fqn), change.field),
    )


def summarize(changes: Sequence[Change]) -> str:
    """Count what the passes did: `3 boundaries stripped (ep-strip 2, …), 1 marked`."""
    modules: dict[Did, dict[str, str]] = {}
    for change in changes:
        modules.setdefault(change.cause.did, {})[change.fqn] = change.cause.pass_name
    parts = []
    for did, passes in modules.items():
        by_pass = Counter(passes.values())
        if did.nouns[0]:
            counts = ", ".join(f"{name} {number}" for name, number in by_pass.items())
            parts.append(f"{plural(len(passes), *did.nouns)} {did.past} ({counts})")
        else:
            parts.append(f"{len(passes)} {did.past} ({', '.join(by_pass)})")
    verbs = dict.fromkeys(one.did.verb for one in PASSES)
    return ", ".join(parts) or f"nothing to {' or '.join(verbs)}"


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
