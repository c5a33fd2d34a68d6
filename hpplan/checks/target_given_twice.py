"""target-given-twice: two spellings of one field that say different things."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.subject import Subject
from hpplan.plan.rules import RULES_OF_PLAN, TARGET_FIELDS, rules_field

TARGET_GIVEN_TWICE = Code(
    "HP317",
    "target-given-twice",
    "warning",
    """\
## What it finds
A rule that has one target under two names, and a different one under each: `local_compute_fn` and
`local_compute_target`, `inner_wrapper` and `inner_wrapper_target`, or two of `replace_module`,
`replace_target` and `factory`. The names are those of HyperParallel's YAML and of its IR, for the same thing.
Two that say the same are no finding.

## Why it hurts
The first name counts, and the other target is passed over without a word.

## Example
```yaml
rules:
  - match: "*.mlp"
    local_compute_fn: mycompany.moe.fast_ep_compute_fn
    local_compute_target: mycompany.moe.safe_ep_compute_fn
```

## What to do
Remove the target that is not meant.
""",
)

CODES: tuple[Code, ...] = (TARGET_GIVEN_TWICE,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each target that a record of the plan passes over."""
    for field in RULES_OF_PLAN:
        yield from _records(subject.plan.data.get(field), subject.plan.place.at(field))


def check_rules(data: dict[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield each target that a rule of a file passes over, whatever shape the rest has."""
    field = rules_field(data)
    if field is not None:
        yield from _records(data[field], place.at(field))


def _records(records: object, place: Place) -> Iterator[Diagnostic]:
    for index, record in enumerate(records if isinstance(records, list) else ()):
        if not isinstance(record, dict):
            continue
        for names in TARGET_FIELDS.values():
            first, *others = [name for name in names if record.get(name) is not None] or [""]
            counts = _target(record.get(first))
            for name in others:
                target = _target(record[name])
                # What names no target is reported as such, and nobody knows yet whether the two agree.
                if counts and target and counts != target:
                    yield Diagnostic(
                        TARGET_GIVEN_TWICE,
                        f"`{name}` says '{target}', which `{first}` overrides",
                        place.at(index, name),
                        hint="remove the one that is not meant",
                        related=(place.at(index, first).noted("this one counts"),),
                    )


def _target(target: object) -> str:
    """Return the dotted name of a target, in either of its forms; empty where it has none."""
    name = target.get("_target_", target.get("target")) if isinstance(target, dict) else target
    return name if isinstance(name, str) else ""
