"""What a plan amounts to: its boundaries by class and form, and the collectives of one forward."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hpplan.documents.natural import natural_key
from hpplan.inspection.forms import FORMS, Forms
from hpplan.plan.folding import fold
from hpplan.plan.model import is_boundary
from hpplan.reports.changes.table import summarize
from hpplan.reports.terminal.paint import BOLD, paint
from hpplan.reports.terminal.tables import plain_table
from hpplan.reports.terminal.visible import visible
from hpplan.routing.mesh import AXES
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.inspection.forms import Form
    from hpplan.inspection.subject import Subject
    from hpplan.plan.model import Plan
    from hpplan.reports.terminal.screen import Screen


def render(subject: Subject, screen: Screen) -> str:
    """Return a few lines and two tables; the second counts before and after normalizing."""
    plan = subject.plan
    forms = Forms(subject)
    axes = ", ".join(in_mesh_order(subject.active_axes)) or "none"
    entries = plural(len(plan.param_plan), "entry", "entries")
    boundaries = plural(len(subject.boundaries), "boundary", "boundaries")
    text = (
        f"{visible(plan.place.document)}: {entries}, {boundaries}\n"
        f"active axes: {visible(axes)} (from {subject.axes_from})\n"
        f"normalizing: {summarize(subject.normalized.changes)}\n"
    )
    if not subject.boundaries:
        return text
    return "\n".join([text, _boundaries(subject, forms, screen), _collectives(subject, forms, screen)])


def in_mesh_order(axes: frozenset[str]) -> list[str]:
    """Return axes in the order they have where no mesh says otherwise."""
    usual = [axis for axis in AXES if axis in axes]
    return [*usual, *sorted(axes.difference(usual))]


def _boundaries(subject: Subject, forms: Forms, screen: Screen) -> str:
    groups: dict[tuple[str, Form], list[str]] = {}
    for fqn, entry in subject.boundaries.items():
        class_name = subject.plan.boundary_classes.get(fqn, "(no class)")
        groups.setdefault((class_name, forms.form(fqn, entry)), []).append(fqn)
    order = {form: number for number, form in enumerate(FORMS)}
    ordered = sorted(groups.items(), key=lambda item: (natural_key(item[0][0]), order[item[0][1]]))
    headers = ("class", "form", "boundaries")
    rows = [(class_name, form, str(len(fqns))) for (class_name, form), fqns in ordered]
    folded = [fold(fqns) for _, fqns in ordered]
    if screen.width is None:
        named = [(*row, " ".join(names)) for row, names in zip(rows, folded, strict=True)]
        return screen.table("", (*headers, "FQNs"), named, (2,))
    # Each FQN has a line of its own: beside the other columns few would fit.
    head, *lines = plain_table(headers, rows, (2,)).splitlines()
    text = [paint(head, BOLD, color=screen.color)]
    for line, names in zip(lines, folded, strict=True):
        text += [line, *(f"  {visible(name)}" for name in names)]
    return "\n".join([*text, ""])


def _collectives(subject: Subject, forms: Forms, screen: Screen) -> str:
    """Count what the boundaries do in one forward, and what is left of it after the passes."""
    before = _counted(subject.plan, forms)
    after = _counted(subject.normalized.plan, forms)
    if not before and not after:
        return "no boundary redistributes anything over the active axes\n"
    rows = [(*key, str(before[key]), str(after[key])) for key in sorted({*before, *after})]
    total = ("total", "", "", "", str(sum(before.values())), str(sum(after.values())))
    headers = ("per forward", "axis", "dimension", "side", "plan", "normalized")
    return screen.table("", headers, [*rows, total], (4, 5))


def _counted(plan: Plan, forms: Forms) -> Counter[tuple[str, str, str, str]]:
    return Counter(
        (step.operation, step.axis, step.what, step.side)
        for entry in plan.param_plan.values()
        if is_boundary(entry)
        for step in forms.steps(entry)
    )
