"""ignored-plan-overrides: rules that other rules of the file push aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.plan.rules import rules_field

IGNORED_PLAN_OVERRIDES = Code(
    "HP318",
    "ignored-plan-overrides",
    "warning",
    """\
## What it finds
A file with both `rules` and `plan_overrides`.

## Why it hurts
A rules file has `rules`, a HyperParallel training YAML has `plan_overrides`. In a file with both, `rules`
counts, and no rule under `plan_overrides` is ever applied.

## Example
```yaml
rules: []
plan_overrides:
  - {match: "*.mlp", local_compute_fn: mycompany.moe.fast_ep_compute_fn}
```

## What to do
Move all rules under one of the two names.
""",
)

CODES: tuple[Code, ...] = (IGNORED_PLAN_OVERRIDES,)


def check_rules(data: dict[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield a finding where a file has both, whatever they hold."""
    if rules_field(data) == "rules" and data.get("plan_overrides") is not None:
        yield Diagnostic(
            IGNORED_PLAN_OVERRIDES,
            "`plan_overrides` is passed over, as this file has `rules` as well",
            place.key("plan_overrides"),
            hint="move all rules under one of the two",
            related=(place.key("rules").noted("these count"),),
        )
