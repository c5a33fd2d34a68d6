"""boundary-without-entry: a class for an FQN that has no entry."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestFqn

BOUNDARY_WITHOUT_ENTRY = Code(
    "HP201",
    "boundary-without-entry",
    "error",
    """\
## What it finds
An FQN in `boundary_classes` that `param_plan` has no entry for.

## Why it hurts
The module is announced as a boundary, and nothing says what its forward wants. Its inputs and outputs
are not redistributed. Usually one of the two names is misspelt.

## Example
```yaml
boundary_classes: {model.layers.0.mpl: LlamaMLP}
param_plan:
  model.layers.0.mlp: {is_boundary: true}
```

## What to do
Correct the name, add the entry, or remove the class.
""",
)

CODES: tuple[Code, ...] = (BOUNDARY_WITHOUT_ENTRY,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each FQN that has a class and no entry."""
    plan = subject.plan
    nearest = NearestFqn(plan.param_plan)
    for fqn, class_name in plan.boundary_classes.items():
        if fqn not in plan.param_plan:
            yield Diagnostic(
                BOUNDARY_WITHOUT_ENTRY,
                f"'{fqn}' has the class {class_name} and no entry in `param_plan`",
                plan.place.key("boundary_classes", fqn),
                hint=nearest.hint(fqn),
            )
