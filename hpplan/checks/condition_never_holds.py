"""condition-never-holds: a rule that waits for an axis the plan does not have."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject

CONDITION_NEVER_HOLDS = Code(
    "HP313",
    "condition-never-holds",
    "warning",
    """\
## What it finds
A rule with `when: ep` or `when: cp` on a plan whose `parallel_dims` give that axis the size 1, or no size.

## Why it hurts
The rule does not apply. That is right where expert or context parallelism is meant to be off; where the
size was forgotten, the plan comes out unnormalized.

## Example
```yaml
# plan                                  # rules
parallel_dims: {tp_size: 4}             # - {match: "*.mlp", when: ep, local_compute_fn: …}
```

## What to do
Set `ep_size` or `cp_size` in the plan's `parallel_dims`, or validate this plan without the rule.
""",
)

CODES: tuple[Code, ...] = (CONDITION_NEVER_HOLDS,)
READS: tuple[str, ...] = ("parallel_dims",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each rule whose condition the plan does not meet."""
    dims = subject.plan.data.get("parallel_dims", {})
    for rule in subject.rules.rules:
        if not rule.holds(subject.plan):
            field = f"{rule.when}_size"
            says = f"sets `{field}` to 1" if field in dims else f"has no `{field}` in `parallel_dims`"
            yield Diagnostic(
                CONDITION_NEVER_HOLDS,
                f"this rule applies when `{rule.when}` is above 1, and the plan {says}",
                rule.place.at("when"),
                hint=f"set `parallel_dims.{field}` in the plan, if the axis is active",
            )
