"""What two plans mean differently: FQNs, placements, classes, boundaries, and fields of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.checks.comparison import ABSENT, Layout, compare_names, field_changes, leaves
from hpplan.checks.contracts import contract_of, spelled
from hpplan.checks.subject import CONTRACT_FIELDS
from hpplan.plan.model import ENTRY_FIELDS, TOP_LEVEL_FIELDS
from hpplan.plan.rules import MATCH_FIELDS

if TYPE_CHECKING:
    from hpplan.checks.comparison import Comparison, FieldChange
    from hpplan.plan.model import Entry, Plan

_RECORDS = ("injections", "module_overrides")

_BY_NAME = frozenset({"param_plan", "boundary_classes", "normalization", *_RECORDS})
"""Fields that are compared name by name."""

_SETS = frozenset({"external_state_classes", "frozen_sharded_params", "not_covered", "remote_siblings"})
"""Lists whose order means nothing."""


def compare_plans(before: Plan, after: Plan) -> Comparison:
    """Return the differences of two plans; key order and spelling are none.

    A missing axis is `R`, an empty field is a missing one, and a boundary is
    what it amounts to, whether the entry says so or its contract does.
    """
    old = {**before.param_plan, **before.boundary_classes}
    new = {**after.param_plan, **after.boundary_classes}
    changes = {fqn: _changes(fqn, before, after) for fqn in old if fqn in new}
    old_records, new_records = _records(before), _records(after)
    changes.update(
        (name, field_changes(record, new_records[name]))
        for name, record in old_records.items()
        if name in new_records
    )
    return compare_names(
        [*old, *old_records],
        [*new, *new_records],
        changes,
        field_changes(_fields(before), _fields(after)),
    )


def _changes(fqn: str, before: Plan, after: Plan) -> tuple[FieldChange, ...]:
    old, new = before.param_plan.get(fqn), after.param_plan.get(fqn)
    if (
        old == new
        and before.boundary_classes.get(fqn) == after.boundary_classes.get(fqn)
        and before.stripped.get(fqn) == after.stripped.get(fqn)
    ):
        return ()
    return field_changes(_meaning(fqn, before, old), _meaning(fqn, after, new))


def _meaning(fqn: str, plan: Plan, entry: Entry | None) -> dict[str, Any]:
    """Return what a plan says about an FQN, by field and, for placements, by tensor and axis."""
    meaning: dict[str, Any] = {}
    if fqn in plan.boundary_classes:
        meaning["class"] = plan.boundary_classes[fqn]
    record = plan.stripped.get(fqn)
    if record is not None:
        meaning["stripped"] = f"{record.get('class', 'no class')} by {record['pass']} ('{record['pattern']}')"
    if entry is None:
        return {**meaning, "entry": ABSENT}
    contract = contract_of(entry)
    contract["params"] = {name: spelled(layout) for name, layout in entry.get("params", {}).items()}
    meaning["is_boundary"] = contract.pop("is_boundary", False)
    for field in (*ENTRY_FIELDS, *(name for name in contract if name not in ENTRY_FIELDS)):
        if field == "params" or field in CONTRACT_FIELDS:
            for tensor, layout in contract.get(field, {}).items():
                meaning[f"{field}.{tensor}"] = Layout(layout)
        elif field in contract:
            meaning[field] = contract[field]
    return meaning


def _records(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return what injections and overrides say, by the field and what they match."""
    found: dict[str, dict[str, Any]] = {}
    for field in _RECORDS:
        for record in plan.data.get(field, []):
            matched = next((name for name in MATCH_FIELDS if name in record), None)
            rest = {key: value for key, value in record.items() if key != matched}
            patterns = record.get(matched, "") if matched is not None else ""
            for pattern in patterns if isinstance(patterns, list) else [patterns]:
                name = f"{field}: {pattern}"
                while name in found:
                    name += " (again)"
                found[name] = rest
    return found


def _fields(plan: Plan) -> dict[str, Any]:
    """Return the other fields of a plan by dotted path, without empty ones."""
    found: dict[str, Any] = {}
    names = [*TOP_LEVEL_FIELDS, *(name for name in plan.data if name not in TOP_LEVEL_FIELDS)]
    for name in names:
        value = plan.data.get(name)
        if name in _BY_NAME or value in (None, {}, []):
            continue
        if isinstance(value, dict):
            found.update(leaves(value, f"{name}."))
        else:
            found[name] = sorted(value) if name in _SETS else value
    # The model type may stand in either of two places.
    found.pop("source.model_type", None)
    if plan.model_type is not None:
        found["model_type"] = plan.model_type
    return found
