"""empty-param-plan: a plan that says nothing about any module."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject

EMPTY_PARAM_PLAN = Code(
    "HP112",
    "empty-param-plan",
    "error",
    """\
## What it finds
A `param_plan` without a single entry.

## Why it hurts
Nothing is sharded and no boundary is wrapped: every rank holds the whole model, and the job runs out
of memory, or trains replicas that nobody asked for.

## Example
```yaml
boundary_classes: {}
param_plan: {}
```

## What to do
Generate the plan again, or write its entries.
""",
)

CODES: tuple[Code, ...] = (EMPTY_PARAM_PLAN,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield a finding where `param_plan` is empty, whatever shape the rest has."""
    plan = subject.plan
    if plan.data.get("param_plan") == {}:
        yield Diagnostic(EMPTY_PARAM_PLAN, "`param_plan` has no entry", plan.place.at("param_plan"))
