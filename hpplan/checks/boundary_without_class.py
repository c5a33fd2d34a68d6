"""boundary-without-class: a boundary whose forward nobody is said to own."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestFqn

BOUNDARY_WITHOUT_CLASS = Code(
    "HP202",
    "boundary-without-class",
    "error",
    """\
## What it finds
An entry that is a boundary, because it says `is_boundary: true` or has an in or out field, and that
`boundary_classes` gives no class.

## Why it hurts
Source lowering writes the wrapper into the class that owns the forward. Without a class there is
nothing to write it into, and the passes cannot tell whether the class is shared.

## Example
```yaml
boundary_classes: {}
param_plan:
  model.norm: {is_boundary: true}
```

## What to do
Add the class under `boundary_classes`, or say `is_boundary: false`.
""",
)

CODES: tuple[Code, ...] = (BOUNDARY_WITHOUT_CLASS,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each boundary that has no class."""
    plan = subject.plan
    classes = plan.boundary_classes
    nearest = NearestFqn(fqn for fqn in classes if fqn not in plan.param_plan)
    for fqn in subject.boundaries:
        if fqn not in classes:
            message = f"'{fqn}' is a boundary and has no class in `boundary_classes`"
            yield Diagnostic(
                BOUNDARY_WITHOUT_CLASS, message, plan.place.key("param_plan", fqn), hint=nearest.hint(fqn)
            )
