"""Taking boundaries away, for the passes that do."""

from __future__ import annotations

from collections.abc import Mapping

from hpplan.passes.change import Cause, Change, Did
from hpplan.plan.model import Plan

STRIPPED = Did("strip", "stripped", ("boundary", "boundaries"))
"""What these passes do."""


def strip_boundaries(plan: Plan, causes: Mapping[str, Cause]) -> tuple[Plan, list[Change]]:
    """Return the plan without the boundaries of some FQNs, and the changes that took.

    An entry, where there is one, gets `is_boundary: false`; the class, where
    there is one, goes from `boundary_classes`. Parameters keep their placements.
    """
    changes: list[Change] = []
    entries = dict(plan.param_plan)
    classes = dict(plan.boundary_classes)
    for fqn, cause in causes.items():
        entry = entries.get(fqn)
        if entry is not None and entry.get("is_boundary") is not False:
            changes.append(Change(fqn, "is_boundary", entry.get("is_boundary"), False, cause))  # noqa: FBT003 - a field's value
            entries[fqn] = {**entry, "is_boundary": False}
        class_name = classes.pop(fqn, None)
        if class_name is not None:
            changes.append(Change(fqn, "boundary_classes", class_name, None, cause))
    if not changes:
        return plan, []
    return plan.replace(param_plan=entries, boundary_classes=classes), changes
