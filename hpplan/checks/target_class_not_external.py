"""target-class-not-external: a class whose forward is replaced and that the plan does not say so of."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import RESOLUTION, Subject

TARGET_CLASS_NOT_EXTERNAL = Code(
    "HP314",
    "target-class-not-external",
    "warning",
    """\
## What it finds
A rule for an expert-parallel strategy that has targets in the plan, and whose target class is not in
`external_state_classes`.

## Why it hurts
The strategy's forward carries its own orchestration, in each instance of the class. An instance that no
rule matches keeps its boundary around that forward, and its inputs are redistributed twice.

## Example
```yaml
external_state_classes: []
boundary_classes: {model.layers.1.mlp: DeepseekV3MoE}
injections:
  - match: model.layers.1.mlp
    local_compute_fn: hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn
```

## What to do
Add the class to the plan's `external_state_classes`.
""",
)

CODES: tuple[Code, ...] = (TARGET_CLASS_NOT_EXTERNAL,)
READS: tuple[str, ...] = (*RESOLUTION, "external_state_classes")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each target class that is not external, at the first rule whose strategy has it."""
    external = set(subject.plan.external_state_classes)
    for ep_rule in subject.facts.ep_rules:
        name = ep_rule.strategy.target_class
        if name is not None and name not in external and subject.targets(ep_rule):
            external.add(name)
            yield Diagnostic(
                TARGET_CLASS_NOT_EXTERNAL,
                f"the strategy of this rule replaces the forward of {name}, "
                "which is not in the plan's `external_state_classes`",
                ep_rule.rule.target_place("local_compute"),
                hint=f"add {name} to `external_state_classes`",
            )
