"""normalization-disagrees: a record of normalizing that is not the record of this plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestFqn, nearest_name
from hpplan.passes.pipeline import PASSES
from hpplan.plan.model import Plan, is_boundary

NORMALIZATION_DISAGREES = Code(
    "HP208",
    "normalization-disagrees",
    "warning",
    """\
## What it finds
A `normalization` record that does not fit the plan around it: a stripped FQN that is a boundary again or has
a class again, a stripped FQN without an entry, a pass that is none, a field that is empty.

## Why it hurts
`hpplan normalize` reads the record back: it says which class a stripped module had, and which forward took
its boundary's place. A record that was left behind by an edit, or edited itself, makes normalizing mark
modules that share no class, and lets `hpplan validate` take a lost reduction for one that somebody does.

## Example
```yaml
param_plan:
  model.layers.1.mlp: {is_boundary: true}
normalization:
  stripped:
    model.layers.1.mlp: {class: DeepseekV3MoE, pass: ep-strip, pattern: "*.mlp"}
```

## What to do
Normalize the plan again from the one before it, or take what does not fit out of the record. Where the
boundary is back on purpose, remove the FQN from `normalization.stripped`.
""",
)

CODES: tuple[Code, ...] = (NORMALIZATION_DISAGREES,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each part of the record that does not fit the plan."""
    plan = subject.plan
    place = plan.place.at("normalization")
    for index, name in enumerate(plan.data.get("normalization", {}).get("passes", ())):
        yield from _pass(name, place.at("passes", index))
    nearest = NearestFqn(plan.param_plan)
    for fqn, record in plan.stripped.items():
        here = place.at("stripped", fqn)
        yield from _back(plan, fqn, place)
        if fqn not in plan.param_plan and fqn not in plan.boundary_classes:
            message = f"'{fqn}' is recorded as stripped, and the plan has no entry for it"
            yield Diagnostic(
                NORMALIZATION_DISAGREES, message, place.key("stripped", fqn), hint=nearest.hint(fqn)
            )
        yield from _empty(record, here)
        if record["pass"]:
            yield from _pass(record["pass"], here.at("pass"))


def _back(plan: Plan, fqn: str, place: Place) -> Iterator[Diagnostic]:
    """Yield a finding where a stripped module is a boundary or has a class."""
    if is_boundary(plan.param_plan.get(fqn, {})):
        what, where = "is a boundary again", plan.place.key("param_plan", fqn)
    elif fqn in plan.boundary_classes:
        what, where = "has a class again", plan.place.key("boundary_classes", fqn)
    else:
        return
    yield Diagnostic(
        NORMALIZATION_DISAGREES,
        f"'{fqn}' is recorded as stripped, and {what}",
        place.key("stripped", fqn),
        hint="run `hpplan normalize`, or remove it from the record if the boundary is back on purpose",
        related=(where.noted(f"it {what} here"),),
    )


def _empty(record: Mapping[str, str], place: Place) -> Iterator[Diagnostic]:
    for field, value in record.items():
        if value == "":
            yield Diagnostic(NORMALIZATION_DISAGREES, f"`{field}` is empty", place.at(field))


def _pass(name: str, place: Place) -> Iterator[Diagnostic]:
    known = [step.name for step in PASSES]
    if name not in known:
        near = nearest_name(name, known)
        hint = f"did you mean '{near}'?" if near else f"the passes are {', '.join(known)}"
        yield Diagnostic(NORMALIZATION_DISAGREES, f"'{name}' is no pass", place, hint=hint)
