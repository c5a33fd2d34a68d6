"""What a plan says about one FQN: entry, class, form, collectives, and what normalizing does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.documents.writer import dump_yaml
from hpplan.errors import UnusableRequest
from hpplan.inspection.forms import Forms
from hpplan.nearest import NearestFqn
from hpplan.plan.model import ENTRY_FIELDS, is_boundary
from hpplan.reports.explain.plan import in_mesh_order
from hpplan.reports.terminal.folding import fold
from hpplan.reports.terminal.paint import BOLD, paint
from hpplan.reports.terminal.visible import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.diagnostics import Place
    from hpplan.documents.source import Sources
    from hpplan.inspection.subject import Subject
    from hpplan.passes.change import Cause, Change
    from hpplan.plan.model import Entry


def render(
    subject: Subject, fqn: str, sources: Sources, *, color: bool = False, width: int | None = None
) -> str:
    """Return labelled lines, then the entry as YAML.

    Sentences are wrapped at `width` columns, or (None) left whole. Raises
    UnusableRequest for an FQN without an entry that has no class and had none.
    """
    _require(subject, fqn)
    entry = subject.plan.param_plan.get(fqn)
    room = None if width is None else max(width - len(_INDENT) - _LABEL - 1, _LEAST_COLUMNS)
    lines = _facts(subject, fqn, entry, sources, room)
    facts = (f"{_INDENT}{_headed(line, color=color)}" for line in lines)
    text = "".join(f"{line}\n" for line in (paint(visible(fqn), BOLD, color=color), *facts))
    if entry:
        text += "\n" + visible_lines(dump_yaml({fqn: entry}, {("*",): ENTRY_FIELDS}))
    return text


def _require(subject: Subject, fqn: str) -> None:
    known = {**subject.plan.param_plan, **subject.facts.classes}
    if fqn in known:
        return
    hint = NearestFqn(known).hint(fqn)
    parts = fqn.split(".")
    above = next(
        (name for end in range(len(parts) - 1, 0, -1) if (name := ".".join(parts[:end])) in known), None
    )
    if hint is None and above is not None:
        hint = f"above it is '{above}'. Type `hpplan explain {subject.plan.place.document} {above}`."
    raise UnusableRequest(
        f"The plan {subject.plan.place.document} says nothing about '{fqn}'."
        + (f" {hint[0].upper()}{hint[1:]}" if hint else "")
    )


def _headed(line: str, *, color: bool) -> str:
    """Return a line with its label painted, if it has one."""
    label = line[:_LABEL]
    return paint(label, BOLD, color=color and not label.isspace()) + line[_LABEL:]


def _facts(
    subject: Subject, fqn: str, entry: Entry | None, sources: Sources, room: int | None
) -> Iterator[str]:
    class_name = subject.plan.boundary_classes.get(fqn)
    remembered = subject.facts.classes.get(fqn)
    yield _line("class", class_name or (f"none (was {remembered})" if remembered else "none"))
    if entry is None:
        yield _line("entry", "none")
    elif not is_boundary(entry):
        yield _line("boundary", "no")
    else:
        forms = Forms(subject)
        yield _line("boundary", "yes")
        yield _line("form", forms.form(fqn, entry))
        axes = ", ".join(in_mesh_order(subject.active_axes)) or "none"
        yield _line("axes", f"{axes} (from {subject.axes_from})")
        steps = forms.steps(entry)
        for side in ("in", "out"):
            of_side = [step for step in steps if step.side == side]
            for step in of_side:
                what = f", {step.what}" if step.what else ""
                yield _line(
                    side,
                    f"{step.tensor}: {step.operation} over {step.axis}{what} ({step.before} -> {step.after})",
                )
            if not of_side:
                yield _line(side, "nothing to redistribute")
    yield from _normalizing(subject, fqn, sources, room)


def _normalizing(subject: Subject, fqn: str, sources: Sources, room: int | None) -> Iterator[str]:
    record = subject.plan.stripped.get(fqn)
    if record is not None:
        yield _line("stripped", f"earlier, by {record['pass']}")
        yield from _cause_lines(record.get("rule"), record["pattern"], record.get("below"))
    changes = [change for change in subject.normalized.changes if change.fqn == fqn]
    if not changes:
        yield _line("normalizing", "changes nothing here")
    seen: Cause | None = None
    for change in changes:
        yield _line("normalizing", f"{change.cause.pass_name}: {_change(change)}")
        if change.cause != seen:
            seen = change.cause
            why = visible(change.cause.why)
            sentence = why if room is None else fold(why, room)
            yield from (_line("", part) for part in sentence.split("\n"))
            yield from _cause_lines(change.cause.rule, change.cause.pattern, change.cause.below)
            yield from _where(subject, change.cause, sources)


def _change(change: Change) -> str:
    return f"{change.field}: {_value(change.before)} -> {_value(change.after)}"


def _value(value: object) -> str:
    if value is None:
        return "(absent)"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cause_lines(rule: str | None, pattern: str, below: str | None) -> Iterator[str]:
    if rule is not None:
        yield _line("", f"rule     {rule}")
    yield _line("", f"pattern  {pattern}")
    if below is not None:
        yield _line("", f"below    {below}")


def _where(subject: Subject, cause: Cause, sources: Sources) -> Iterator[str]:
    """Say where the rule that caused a change is written."""
    places: list[Place] = []
    for item in subject.facts.ep_rules:
        if item.strategy.target != cause.rule:
            continue
        if cause.below is None:
            written = zip(item.rule.patterns, item.rule.pattern_places, strict=True)
            places += [place for pattern, place in written if pattern == cause.pattern]
        elif cause.below in subject.targets(item):
            places.append(item.rule.place)
    for place, (line, column) in sources.positions(places[:1]).items():
        yield _line("", f"at       {place.document}:{line}:{column}")


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}} {visible(text)}".rstrip()


_INDENT = "  "

_LABEL = 12
"""Columns of a label."""

_LEAST_COLUMNS = 20
"""Of a sentence, on a terminal however narrow."""
