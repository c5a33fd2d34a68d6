"""unknown-parameter: a parameter that the model does not have."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject
from hpplan.models.facts import join, last_part, parent
from hpplan.nearest import NearestFqn

UNKNOWN_PARAMETER = Code(
    "HP241",
    "unknown-parameter",
    "error",
    """\
## What it finds
With `--model`: a name under `params` that is no parameter of the module. Buffers are none: no plan lists
them. Modules that differ only in their numbers are reported once.

## Why it hurts
The placement is of nothing, and the parameter that was meant stays whole on every rank, or is in no entry.

## Example
```yaml
model.layers.0.mlp:
  params: {gate_up_proj.weight: {tp: S(0)}}     # the model has gate_proj and up_proj
```

## What to do
Write the name that the model has, from the module on: `gate_proj.weight`.
""",
)

CODES: tuple[Code, ...] = (UNKNOWN_PARAMETER,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each listed parameter that its module does not have; of unknown modules, nothing is known."""
    model, plan = subject.model, subject.plan
    if model is None:
        return
    nearest = NearestFqn(model.parameters)
    unknown = [
        (fqn, name)
        for fqn, entry in plan.param_plan.items()
        if fqn in model.modules
        for name in entry.get("params", {})
        if join(fqn, name) not in model.parameters
    ]
    for name, fqns in alike(unknown):
        full = join(fqns.first, name)
        owner = model.modules.get(parent(full))
        buffer = owner is not None and last_part(full) in owner.buffers
        yield Diagnostic(
            UNKNOWN_PARAMETER,
            f"`{name}` in {fqns.names} is {'a buffer' if buffer else 'no parameter of the model'}",
            plan.place.key("param_plan", fqns.first, "params", name),
            hint="leave it out; plans list parameters" if buffer else nearest.hint(full),
        )
