"""frozen-param-not-sharded: a parameter listed as sharded that no placement shards."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.subject import Subject
from hpplan.plan.fqn import ancestors

FROZEN_PARAM_NOT_SHARDED = Code(
    "HP207",
    "frozen-param-not-sharded",
    "error",
    """\
## What it finds
A parameter in `frozen_sharded_params` whose placements are `R` along every axis.

## Why it hurts
The list says that each rank holds a part of the parameter; the placements say that each holds all of
it. Whoever loads the checkpoint follows one, and the module computes with the other.

## Example
```yaml
frozen_sharded_params: [model.embed_tokens.weight]
param_plan:
  model.embed_tokens: {params: {weight: {cp: R, tp: R}}}
```

## What to do
Shard the parameter, or take it off the list.
""",
)

CODES: tuple[Code, ...] = (FROZEN_PARAM_NOT_SHARDED,)
READS: tuple[str, ...] = ("placements",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each listed parameter that is replicated along every axis."""
    plan = subject.plan
    for index, name in enumerate(plan.data.get("frozen_sharded_params", [])):
        layout = _layout(subject, name)
        if layout is not None and all(placement == "R" for placement in layout[0].values()):
            yield Diagnostic(
                FROZEN_PARAM_NOT_SHARDED,
                f"'{name}' is listed as sharded, and no placement shards it",
                plan.place.at("frozen_sharded_params", index),
                related=(layout[1],),
            )


def _layout(subject: Subject, name: str) -> tuple[dict[str, str], Place] | None:
    """Return the placements of a parameter: of the innermost entry that has it."""
    for owner in ancestors(name):
        parameter = name[len(owner) + 1 :]
        if owner in subject.unsure:
            return None
        params = subject.plan.param_plan.get(owner, {}).get("params", {})
        if parameter in params:
            place = subject.plan.place.key("param_plan", owner, "params", parameter)
            return params[parameter], place.noted("its placements are here")
    return None
