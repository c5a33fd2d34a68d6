"""unknown-module: an FQN that the model does not have."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestFqn

UNKNOWN_MODULE = Code(
    "HP240",
    "unknown-module",
    "error",
    """\
## What it finds
With `--model`: an FQN in `param_plan` or `boundary_classes` that is no module of the model. Modules that
differ only in their numbers are reported once.

## Why it hurts
Nothing is wrapped and nothing is cut there, and the module that was meant goes without. The runtime stops at
it, or passes over it.

## Example
```yaml
param_plan:
  model.layers.0.attn: {params: {q_proj.weight: {tp: S(0)}}}     # the model calls it self_attn
```

## What to do
Write the name that the model has. A plan that was made for another version of the model, or of the library
that builds it, has to be frozen anew.
""",
)

CODES: tuple[Code, ...] = (UNKNOWN_MODULE,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each FQN that is no module, where it stands first."""
    if subject.model is None:
        return
    plan, modules = subject.plan, subject.model.modules
    nearest = NearestFqn(modules)
    names: dict[str, str] = {}
    for field in ("param_plan", "boundary_classes"):
        for fqn in plan.data[field]:
            if fqn not in modules:
                names.setdefault(fqn, field)
    for field, fqns in alike(names.items()):
        message = f"{subject.model.model_class} has no module {fqns.names}"
        yield Diagnostic(
            UNKNOWN_MODULE, message, plan.place.key(field, fqns.first), hint=nearest.hint(fqns.first)
        )
