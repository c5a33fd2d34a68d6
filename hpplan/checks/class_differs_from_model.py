"""class-differs-from-model: a class that is not the module's."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject

CLASS_DIFFERS_FROM_MODEL = Code(
    "HP243",
    "class-differs-from-model",
    "error",
    """\
## What it finds
With `--model`: an FQN whose class in `boundary_classes` is not the class of that module. Modules that differ
only in their numbers are reported once.

## Why it hurts
The wrapper is written into a class that nobody calls there, and a rule whose strategy is for the class that
is named has no effect on the one that is there.

## Example
```yaml
boundary_classes: {model.layers.0.mlp: DeepseekV3MoE}     # in layer 0 it is a DeepseekV3MLP
```

## What to do
Write the class that the message names. If it is another model's, so is the plan.
""",
)

CODES: tuple[Code, ...] = (CLASS_DIFFERS_FROM_MODEL,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each class that a module of the model does not have, stripped boundaries too."""
    model, plan = subject.model, subject.plan
    if model is None:
        return
    differing = [
        (fqn, (name, model.modules[fqn].class_name))
        for fqn, name in plan.remembered_classes.items()
        if fqn in model.modules and name != model.modules[fqn].class_name
    ]
    for (declared, real), fqns in alike(differing):
        kept = fqns.first in plan.boundary_classes
        keys = (
            ("boundary_classes", fqns.first) if kept else ("normalization", "stripped", fqns.first, "class")
        )
        message = f"{fqns.names} {'is' if fqns.many == 1 else 'are'} {real} in the model, not {declared}"
        yield Diagnostic(CLASS_DIFFERS_FROM_MODEL, message, plan.place.at(*keys), hint=f"write {real}")
