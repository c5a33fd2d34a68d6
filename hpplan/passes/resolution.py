"""Resolving inline rules against strategies and a plan, with warnings about those that do nothing."""

from __future__ import annotations

from hpplan.diagnostics import Diagnostic, Place
from hpplan.nearest import NearestNames
from hpplan.passes.facts import EpRule, Facts
from hpplan.plan.codes import OTHER_CLASS, UNMATCHED_RULE, UNRESOLVED_TARGET
from hpplan.plan.fqn import is_within
from hpplan.plan.model import LEFT_OUT, Plan
from hpplan.plan.rules import Rule
from hpplan.plan.strategies import Strategy, StrategyTable


def resolve_rules(
    plan: Plan, rules: tuple[Rule, ...], strategies: StrategyTable, model_type: str | None
) -> tuple[Facts, list[Diagnostic]]:
    """Return the facts that the passes need, and HP301 to HP303 for rules without effect.

    Rules whose `when` does not hold are left alone.
    """
    facts = Facts.of(plan)
    left_out = {name for field in LEFT_OUT for name in plan.data.get(field, [])}
    nearest = NearestNames()
    ep_rules: list[EpRule] = []
    warnings: list[Diagnostic] = []
    for rule in rules:
        if not rule.holds(plan):
            continue
        matched = [fqn for pattern in rule.patterns for fqn in facts.names.matching(pattern)]
        if not matched and not any(is_within(pattern, left_out) for pattern in rule.patterns):
            warnings.append(_unmatched(rule))
        targets = {"local_compute": rule.local_compute_target, "inner_wrapper": rule.inner_wrapper_target}
        for role, target in targets.items():
            if target is None:
                continue
            strategy = strategies.resolve(target, model_type, inner_wrapper=role == "inner_wrapper")
            if strategy is None:
                place = rule.target_place(role)
                warnings.append(_unresolved(target, place, strategies, model_type, nearest))
            elif strategy.target_class is not None and role == "local_compute":
                ep_rules.append(EpRule(strategy, rule))
                warnings += _other_class(rule, strategy, matched, facts)
    return facts._replace(ep_rules=tuple(ep_rules)), warnings


def _unmatched(rule: Rule) -> Diagnostic:
    patterns = ", ".join(f"'{pattern}'" for pattern in rule.patterns)
    message = f"no FQN of the plan matches {patterns}" if patterns else "this rule has no pattern"
    return Diagnostic(
        UNMATCHED_RULE, message, rule.place, hint="patterns are case-sensitive and cover the whole FQN"
    )


def _unresolved(
    target: str, place: Place, strategies: StrategyTable, model_type: str | None, nearest: NearestNames
) -> Diagnostic:
    known = strategies.known(target)
    if known is not None:
        serves = ", ".join(known.model_types or ())
        return Diagnostic(
            UNRESOLVED_TARGET,
            f"the strategy '{target}' does not serve the model type '{model_type}'",
            place,
            hint=f"it serves {serves or 'none'}; add the model type to the strategy or correct it",
        )
    near = nearest.of(target, [strategy.target for strategy in strategies], 0.8)
    hint = f"did you mean '{near}'?" if near else "declare it under `strategies:` in the rules file"
    return Diagnostic(UNRESOLVED_TARGET, f"no strategy has the target '{target}'", place, hint=hint)


def _other_class(rule: Rule, strategy: Strategy, matched: list[str], facts: Facts) -> list[Diagnostic]:
    # A module without a class may be one that an earlier, bare normalization stripped: no reason to warn.
    classes = {facts.classes.get(fqn) for fqn in matched}
    if not classes or None in classes or strategy.target_class in classes:
        return []
    names = ", ".join(sorted(str(name) for name in classes))
    return [
        Diagnostic(
            OTHER_CLASS,
            f"the strategy '{strategy.target}' replaces the forward of {strategy.target_class}, "
            f"and this rule matches only {names}",
            rule.target_place("local_compute"),
            hint="use the strategy of this class, or declare one with this target_class",
        )
    ]
