"""unknown-field: a field that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.schema_reference import SCHEMA_FIELD
from hpplan.inspection.subject import Subject
from hpplan.nearest import nearest_name
from hpplan.plan.model import DIMS, ENTRY_FIELDS, TOP_LEVEL_FIELDS
from hpplan.plan.rules import RULE, RULES_FILE, RULES_OF_PLAN, TARGET_FIELDS, rules_field
from hpplan.plan.strategies import STRATEGY

UNKNOWN_FIELD = Code(
    "HP111",
    "unknown-field",
    "warning",
    """\
## What it finds
A field of the plan, of an entry, of `parallel_dims`, of a rule or of a strategy that has no meaning. A
top-level field that begins with `x-` is left alone: it is a place for YAML anchors. So is `$schema`,
which is for editors.

## Why it hurts
Nobody reads it. If it is a spelling mistake, what it was meant to say is not said: with `in_dest`
instead of `in_dst`, the module gets its inputs as they come.

## Example
```yaml
model.layers.0.mlp:
  in_src: {hidden_states: {tp: S(1)}}
  in_dest: {hidden_states: {tp: R}}
```

## What to do
Correct the name; the message gives the nearest one. `hpplan schema plan` lists every field. hpplan
keeps unknown fields when it writes a plan.
""",
)

CODES: tuple[Code, ...] = (UNKNOWN_FIELD,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the unknown fields of a plan, whatever shape its data has."""
    data, place = subject.plan.data, subject.plan.place
    for name in data:
        if name not in TOP_LEVEL_FIELDS and name != SCHEMA_FIELD and not name.startswith("x-"):
            yield _unknown(name, TOP_LEVEL_FIELDS, place, "a plan")
    yield from _below(data.get("parallel_dims"), DIMS.names, place.at("parallel_dims"), "`parallel_dims`")
    for field in RULES_OF_PLAN:
        yield from _misspelt_targets(data, field, place)
    entries = data.get("param_plan")
    if isinstance(entries, dict):
        known = frozenset(ENTRY_FIELDS)
        for fqn, entry in entries.items():
            if isinstance(entry, dict) and not entry.keys() <= known:
                yield from _below(entry, ENTRY_FIELDS, place.at("param_plan", fqn), "an entry")


def check_rules(data: dict[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield the unknown fields of a file with rules or strategies; a training YAML may hold anything else."""
    if rules_field(data) != "plan_overrides":
        yield from _below(data, (*RULES_FILE.names, SCHEMA_FIELD), place, "a rules file")
        yield from _records(data, "rules", RULE.names, place, "a rule")
    else:
        yield from _misspelt_targets(data, "plan_overrides", place)
    yield from _records(data, "strategies", STRATEGY.names, place, "a strategy")


def _records(
    data: dict[str, Any], field: str, known: tuple[str, ...], place: Place, owner: str
) -> Iterator[Diagnostic]:
    records = data.get(field)
    if isinstance(records, list):
        for index, record in enumerate(records):
            yield from _below(record, known, place.at(field, index), owner)


def _misspelt_targets(data: Mapping[str, Any], field: str, place: Place) -> Iterator[Diagnostic]:
    """Yield what is nearly a target in records that have none, and may have any other field."""
    targets = [name for names in TARGET_FIELDS.values() for name in names]
    records = data.get(field)
    for index, record in enumerate(records if isinstance(records, list) else ()):
        if isinstance(record, dict) and not record.keys() & set(targets):
            for name in record:
                if nearest_name(name, targets, _NEARLY):
                    yield _unknown(name, tuple(targets), place.at(field, index), "a rule")


_NEARLY = 0.9
"""Likeness to a target above which another field is a slip: a rule without a target does nothing."""


def _below(data: object, known: tuple[str, ...], place: Place, owner: str) -> Iterator[Diagnostic]:
    if isinstance(data, dict):
        for name in data:
            if name not in known:
                yield _unknown(name, known, place, owner)


def _unknown(name: str, known: tuple[str, ...], place: Place, owner: str) -> Diagnostic:
    near = nearest_name(name, known)
    message = f"{owner} has no field `{name}`"
    return Diagnostic(
        UNKNOWN_FIELD, message, place.key(name), hint=f"did you mean `{near}`?" if near else None
    )
