"""dp-placement: a placement along the data-parallel axis."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject

DP_PLACEMENT = Code(
    "HP205",
    "dp-placement",
    "error",
    """\
## What it finds
A placement other than `R` along `dp`, of a parameter or of an activation.

## Why it hurts
Data parallelism splits the batch before the model sees it, and shards parameters in its own wrapper.
A plan that splits along `dp` as well splits twice, and every replica computes on a part of its batch.

## Example
```yaml
in_src: {hidden_states: {dp: S(0), tp: S(1)}}
```

## What to do
Leave `dp` out of the placement.
""",
)

CODES: tuple[Code, ...] = (DP_PLACEMENT,)
READS: tuple[str, ...] = ("placements",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each placement along dp that is not R."""
    place = subject.plan.place
    for fqn, field, tensor, layout in subject.layouts():
        if layout.get("dp", "R") != "R":
            yield Diagnostic(
                DP_PLACEMENT,
                f"`{tensor}` is placed as {layout['dp']} along `dp`",
                place.key("param_plan", fqn, field, tensor, "dp"),
                hint="leave `dp` out; the batch is split outside the plan",
            )
