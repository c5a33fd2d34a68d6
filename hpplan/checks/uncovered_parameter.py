"""uncovered-parameter: a trainable parameter that is in no entry."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject
from hpplan.models.facts import ModelFacts, join
from hpplan.plan.fqn import ancestors
from hpplan.plan.model import LEFT_OUT
from hpplan.wording import plural

UNCOVERED_PARAMETER = Code(
    "HP242",
    "uncovered-parameter",
    "error",
    """\
## What it finds
With `--model`: a trainable parameter that no entry lists under `params`, and that is not below a module in
`not_covered` or `remote_siblings`. A module none of whose parameters is listed is reported as one, and
modules that differ only in their numbers once. Of tied parameters, one that is listed is enough.

## Why it hurts
Nothing says how the parameter lies, or over which axes its gradient must be added up. Whole on each rank,
with gradients that differ, it drifts apart.

## Example
```yaml
model.layers.0.mlp:
  params:
    gate_proj.weight: {tp: S(0)}
    down_proj.weight: {tp: S(1)}     # and up_proj.weight?
```

## What to do
Give it a placement; `R` is one. Name modules that the plan is not about under `not_covered`.
""",
)

CODES: tuple[Code, ...] = (UNCOVERED_PARAMETER,)
READS: tuple[str, ...] = ("not_covered", "remote_siblings")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each module, or parameter of one, that is missing."""
    model, plan = subject.model, subject.plan
    if model is None:
        return
    listed = {join(fqn, name) for fqn, entry in plan.param_plan.items() for name in entry.get("params", {})}
    unsure = tuple(f"{fqn}." for fqn in subject.unsure)
    listed |= {name for name in model.parameters if f"{name}.".startswith(unsure)}  # what is broken may do so
    listed |= {name for group in model.tied if not listed.isdisjoint(group) for name in group}
    outside = tuple(f"{name}." for field in LEFT_OUT for name in plan.data.get(field, []))
    missing = {
        name
        for name, parameter in model.parameters.items()
        if parameter.trainable and name not in listed and not f"{name}.".startswith(outside)
    }
    uncovered = _whole_modules(model, missing)
    for count, names in alike(uncovered.items()):
        above = [fqn for fqn in ancestors(names.first) if fqn in plan.param_plan]
        total = f" ({plural(count * names.many, 'parameter')})" if count * names.many > 1 else ""
        yield Diagnostic(
            UNCOVERED_PARAMETER,
            f"{names.names}{total} {'is' if names.many == 1 else 'are'} trainable and in no entry",
            plan.place.key("param_plan", *above[:1]),
            hint="list it under `params` of the entry around it, or under `not_covered`",
        )


def _whole_modules(model: ModelFacts, missing: set[str]) -> dict[str, int]:
    """Return the largest modules all of whose parameters are missing, and other missing ones, with counts."""
    counts: dict[str, int] = {}

    def walk(fqn: str) -> None:
        names = model.parameters_below(fqn)
        gone = missing.intersection(names)
        if fqn and gone and len(gone) == len(names):
            counts[fqn] = len(gone)
        elif gone:
            direct = (join(fqn, name) for name in model.modules[fqn].parameters)
            counts.update((name, 1) for name in direct if name in gone)
            for child in model.children[fqn]:
                walk(child)

    walk("")
    return counts
