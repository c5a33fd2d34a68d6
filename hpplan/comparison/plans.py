"""What two plans mean differently: FQNs, placements, classes, boundaries, and fields of the plan."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hpplan.comparison.changes import (
    ABSENT,
    Differences,
    FieldChange,
    Placements,
    compare_names,
    field_changes,
    leaves,
)
from hpplan.diagnostics import Path
from hpplan.errors import InvalidInput
from hpplan.inspection.contracts import contract_of, spelled
from hpplan.inspection.subject import CONTRACT_FIELDS
from hpplan.plan.model import ENTRY_FIELDS, PARALLEL_DIMS, PLAN, TOP_LEVEL_FIELDS, Entry, Plan
from hpplan.plan.rules import (
    MATCH_FIELDS,
    TARGET_FIELDS,
    arguments_of,
    match_field,
    target_fields,
    what_is_given,
)
from hpplan.workload.micro_batches import has_micro_batches
from hpplan.workload.workload import load_workload

_RECORDS = ("injections", "module_overrides")

_BY_NAME = frozenset({"param_plan", "boundary_classes", "normalization", "feature_exchange", *_RECORDS})
"""Fields that are compared name by name."""

_SETS = frozenset(field.name for field in PLAN.fields if field.unordered)


def compare_plans(before: Plan, after: Plan) -> Differences:
    """Return the differences of two plans; key order and spelling are none.

    A missing axis is `R`, an empty field is a missing one, and a boundary is
    what it amounts to, whether the entry says so or its contract does. Records,
    sizes and the workload are what they amount to as well.
    """
    old = {**before.param_plan, **before.boundary_classes}
    new = {**after.param_plan, **after.boundary_classes}
    changes = {fqn: _changes(fqn, before, after) for fqn in old if fqn in new}
    (old_items, old_exchange), (new_items, new_exchange) = _exchange(before), _exchange(after)
    old_records, new_records = {**_records(before), **old_items}, {**_records(after), **new_items}
    changes.update(
        (name, field_changes(record, new_records[name]))
        for name, record in old_records.items()
        if name in new_records
    )
    return compare_names(
        [*old, *old_records],
        [*new, *new_records],
        changes,
        field_changes({**_fields(before), **old_exchange}, {**_fields(after), **new_exchange}),
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
                meaning[f"{field}.{tensor}"] = Placements(layout)
        elif field in contract:
            meaning[field] = contract[field]
    return meaning


def _records(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return what injections and overrides say, by the field and what they match."""
    records: dict[str, dict[str, Any]] = {}
    times: Counter[str] = Counter()
    for field in _RECORDS:
        for record in plan.data.get(field, []):
            given = what_is_given(record)
            matched = match_field(given)
            rest = _record({key: value for key, value in given.items() if key not in MATCH_FIELDS})
            patterns = given[matched] if matched is not None else ""
            for pattern in patterns if isinstance(patterns, list) else [patterns]:
                name = f"{field}: {pattern}"
                times[name] += 1
                records[name if times[name] == 1 else f"{name} (again, {times[name]})"] = rest
    return records


def _record(given: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its targets in one spelling."""
    fields = target_fields(given)
    spellings = {name for names in TARGET_FIELDS.values() for name in names}
    record = {key: value for key, value in given.items() if key not in spellings}
    for role, field in fields.items():
        target = given[field]
        if isinstance(target, dict) and not arguments_of(target):
            target = target.get("_target_", target.get("target"))
        record[TARGET_FIELDS[role][0]] = target
    return record


def _exchange(plan: Plan) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the items of the plan's workload by name, and its other fields by dotted path.

    Of a workload that does not load, and of micro-batches, that is what is written.
    """
    field = "feature_exchange"
    data = plan.data.get(field)
    if not data:
        return {}, {}
    try:
        if has_micro_batches(data):
            return {}, leaves(data, f"{field}.")
        workload = load_workload(data, plan.place.at(field))
    except InvalidInput:
        return {}, leaves(data, f"{field}.")
    data = workload.to_data()
    replicas = data.pop("replicas", None)
    batches = (
        {"": data} if replicas is None else {f"replicas.{n}.": replica for n, replica in enumerate(replicas)}
    )
    items: dict[str, dict[str, Any]] = {}
    fields = leaves({name: value for name, value in data.items() if name != "items"}, f"{field}.")
    for prefix, batch in batches.items():
        items.update((f"{field}.{prefix}items.{item['item_id']}", item) for item in batch["items"])
        if prefix:
            rest = {name: value for name, value in batch.items() if name != "items"}
            fields.update(leaves(rest, f"{field}.{prefix}"))
    for warning in workload.warnings:
        _keep_unknown(plan.data, warning.place.path[len(plan.place.path) :], items, fields)
    return items, fields


def _keep_unknown(data: Any, path: Path, items: dict[str, dict[str, Any]], fields: dict[str, Any]) -> None:  # noqa: ANN401 - document data
    """Add a field that a workload has and does not know to its item, or to the other fields."""
    value, into, start = data, fields, 0
    for at, key in enumerate(path):
        value = value[key]
        if isinstance(key, int) and path[at - 1] == "items":
            into, start = items[f"{'.'.join(map(str, path[:at]))}.{value['item_id']}"], at + 1
    into.update(leaves({".".join(map(str, path[start:])): value}))


def _fields(plan: Plan) -> dict[str, Any]:
    """Return the other fields of a plan by dotted path, without empty ones."""
    fields: dict[str, Any] = {}
    names = [*TOP_LEVEL_FIELDS, *(name for name in plan.data if name not in TOP_LEVEL_FIELDS)]
    for name in names:
        value = plan.data.get(name)
        if name == "parallel_dims" and value is not None:
            # What is not there has size 1; without any of it, nothing is said of sizes.
            value = {**PARALLEL_DIMS, **value}
        if name in _BY_NAME or value in (None, {}, []):
            continue
        if isinstance(value, dict):
            fields.update(leaves(value, f"{name}."))
        else:
            fields[name] = sorted(set(value)) if name in _SETS else value
    # The model type may stand in either of two places.
    fields.pop("source.model_type", None)
    if plan.model_type is not None:
        fields["model_type"] = plan.model_type
    return fields
