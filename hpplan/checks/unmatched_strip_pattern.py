"""unmatched-strip-pattern: a sub-module that no target has."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import RESOLUTION, Subject
from hpplan.plan.fqn import matcher
from hpplan.plan.strategies import Strategy
from hpplan.wording import some

UNMATCHED_STRIP_PATTERN = Code(
    "HP315",
    "unmatched-strip-pattern",
    "warning",
    """\
## What it finds
A pattern in the `strip_boundary_subpatterns` of a strategy that this run's files declare, which matches no
entry below any of the strategy's targets in the plan. Built-in strategies serve several ways of building a
model, fused experts and experts as modules, so theirs are left out; so are strategies without a target.

## Why it hurts
The pattern was written for a sub-module that the strategy's forward calls itself. Misspelt, it leaves the
boundary there, and the sub-module communicates inside a forward that already did.

## Example
```yaml
strategies:
  - target: mycompany.moe.my_ep_compute_fn
    kind: moe_ep_routed
    target_class: MyMoE
    strip_boundary_subpatterns: [shared_expert]       # the module is called shared_experts
```

## What to do
Correct the pattern: it is matched against the FQN below the target, and `*` crosses dots.
""",
)

CODES: tuple[Code, ...] = (UNMATCHED_STRIP_PATTERN,)
READS: tuple[str, ...] = (*RESOLUTION, "parallel_dims", "rules")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each strip pattern without a match."""
    targets: dict[str, tuple[Strategy, set[str]]] = {}
    for ep_rule in subject.facts.ep_rules:
        strategy = ep_rule.strategy
        targets.setdefault(strategy.target, (strategy, set()))[1].update(subject.targets(ep_rule))
    for strategy, fqns in targets.values():
        if strategy.place is None or not strategy.place.path or not fqns:
            continue
        place = strategy.place.at("strip_boundary_subpatterns")
        suffixes = {
            below[len(fqn) + 1 :]
            for fqn in fqns
            for below in subject.facts.names.below(fqn)
            if below in subject.plan.param_plan
        }
        for index, pattern in enumerate(strategy.strip_boundary_subpatterns):
            matches = matcher(pattern)
            if not any(matches(suffix) for suffix in suffixes):
                message = (
                    f"the strip pattern '{pattern}' matches no entry below a target of '{strategy.target}'"
                )
                yield Diagnostic(UNMATCHED_STRIP_PATTERN, message, place.at(index), hint=_known(suffixes))


def _known(suffixes: set[str]) -> str:
    heads = sorted({suffix.partition(".")[0] for suffix in suffixes})
    return f"below the targets are {some(heads)}" if heads else "there is no entry below a target"
