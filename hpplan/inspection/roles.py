"""The places a rule's targets can take, and the modules in which they do."""

from __future__ import annotations

from hpplan.inspection.subject import Subject
from hpplan.plan.rules import Rule

ROLES = {
    "local_compute": "local compute function",
    "inner_wrapper": "inner wrapper",
    "replace": "replacement",
}
"""Each role with the words for it."""


def role_target(rule: Rule, role: str) -> str | None:
    """Return the target that a rule has in a role."""
    target: str | None = getattr(rule, f"{role}_target")
    return target


def same_effect(rule: Rule, other: Rule, role: str) -> bool:
    """Whether two rules give the same in a role: one target, with the same arguments."""
    given, others = ((role_target(each, role), each.arguments.get(role)) for each in (rule, other))
    return given == others


def effective(subject: Subject, rule: Rule, role: str, patterns: tuple[str, ...] | None = None) -> list[str]:
    """Return the modules in which a rule's target takes its place, by some or all of its patterns.

    A local compute strategy with a target class concerns modules of that
    class alone; one that is not resolved concerns none.
    """
    matched = subject.matched(rule.patterns if patterns is None else patterns)
    if role != "local_compute":
        return matched
    strategy = subject.resolve(rule)
    if strategy is None:
        return []
    classes = subject.facts.classes
    return [fqn for fqn in matched if strategy.target_class in {None, classes.get(fqn)}]
