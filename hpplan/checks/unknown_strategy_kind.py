"""unknown-strategy-kind: a strategy of a kind that does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.nearest import nearest_name
from hpplan.plan.rules import rules_field
from hpplan.plan.strategies import KINDS

UNKNOWN_STRATEGY_KIND = Code(
    "HP319",
    "unknown-strategy-kind",
    "warning",
    """\
## What it finds
A strategy whose `kind` is none of those there are: `moe_ep_routed`, a forward that routes tokens to experts,
and `cp_attention`, an inner wrapper around attention.

## Why it hurts
The kind says what the strategy's forward does. hpplan's passes go by its target class, so that normalizing
looks right, and the mistake shows where the kind is first asked for.

## Example
```yaml
strategies:
  - {target: mycompany.moe.my_ep_compute_fn, kind: moe_ep_route, target_class: MyMoE}    # moe_ep_routed
```

## What to do
Correct the kind; the message gives the nearest one.
""",
)

CODES: tuple[Code, ...] = (UNKNOWN_STRATEGY_KIND,)


def check_rules(data: dict[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield each strategy of a file with an unknown kind, whatever shape the rest has."""
    if rules_field(data) == "plan_overrides":
        return  # a training YAML, whose other keys are its own affair
    strategies = data.get("strategies")
    for index, record in enumerate(strategies if isinstance(strategies, list) else ()):
        kind = record.get("kind") if isinstance(record, dict) else None
        if isinstance(kind, str) and kind not in KINDS:
            near = nearest_name(kind, KINDS)
            yield Diagnostic(
                UNKNOWN_STRATEGY_KIND,
                f"'{kind}' is no kind of strategy",
                place.at("strategies", index, "kind"),
                hint=f"did you mean '{near}'?" if near else f"write one of {', '.join(KINDS)}",
            )
