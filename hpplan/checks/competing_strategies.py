"""competing-strategies: two targets for one place of one module."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.roles import ROLES, effective, role_target, same_effect
from hpplan.inspection.subject import RESOLUTION, Subject
from hpplan.plan.rules import Rule

COMPETING_STRATEGIES = Code(
    "HP311",
    "competing-strategies",
    "error",
    """\
## What it finds
Two rules that give one module different local compute functions, different inner wrappers or different
replacements, or the same one with different arguments. A strategy with a target class concerns modules of
that class alone, so two recipes that share a pattern and differ in their class do not compete.

## Why it hurts
Only one of them can take effect. Which one depends on who applies the rules.

## Example
```yaml
rules:
  - {match: "*.mlp", local_compute_fn: mycompany.moe.fast_ep_compute_fn}
  - {match: model.layers.3.mlp, local_compute_fn: mycompany.moe.safe_ep_compute_fn}
```

## What to do
Narrow one of the patterns.
""",
)

CODES: tuple[Code, ...] = (COMPETING_STRATEGIES,)
READS: tuple[str, ...] = RESOLUTION


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each pair of rules that compete, once, with the first module they compete for."""
    for role in ROLES:
        first: dict[str, Rule] = {}
        reported: set[tuple[int, int]] = set()
        for rule in subject.rules.rules:
            target = role_target(rule, role)
            if target is None or not rule.holds(subject.plan):
                continue
            for fqn in effective(subject, rule, role):
                earlier = first.setdefault(fqn, rule)
                pair = (id(earlier), id(rule))
                if pair in reported or same_effect(earlier, rule, role):
                    continue
                reported.add(pair)
                yield Diagnostic(
                    COMPETING_STRATEGIES,
                    f"this rule gives '{fqn}' the {ROLES[role]} '{target}', "
                    f"and another gives it {_other(earlier, rule, role)}",
                    rule.target_place(role),
                    hint="narrow one of the patterns",
                    related=(earlier.target_place(role).noted("the other rule"),),
                )


def _other(earlier: Rule, rule: Rule, role: str) -> str:
    target = role_target(earlier, role)
    return "that with other arguments" if target == role_target(rule, role) else f"'{target}'"
