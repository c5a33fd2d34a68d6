"""Inline rules that give the experts of a frozen plan their strategy."""

from __future__ import annotations

import re
from typing import Any

from hpplan.documents.natural import natural_key
from hpplan.plan.model import Plan
from hpplan.plan.strategies import BUILT_IN, MOE_EP_ROUTED, STRATEGY, Strategy, StrategyTable


def expert_rules(plan: Plan, strategies: StrategyTable) -> tuple[dict[str, Any], list[str]]:
    """Return the data of a rules file for a frozen plan, and the classes that have no one strategy.

    Each class in `external_state_classes` gets a rule that matches its modules
    and points at the strategy that replaces its forward.
    """
    rules, declared, without = [], [], []
    for name in sorted(plan.external_state_classes):
        fitting = [known for known in strategies if _fits(known, name, plan.model_type)]
        if len(fitting) != 1:
            without.append(name)
            continue
        (strategy,) = fitting
        fqns = (fqn for fqn, class_name in plan.boundary_classes.items() if class_name == name)
        patterns = sorted({re.sub(r"(?<=\.)\d+(?=\.|$)", "*", fqn) for fqn in fqns}, key=natural_key)
        match = patterns[0] if len(patterns) == 1 else patterns
        rules.append({"match": match, "when": "ep", "local_compute_fn": strategy.target})
        if strategy not in BUILT_IN:
            declared.append(_declared(strategy))
    data: dict[str, Any] = {"rules": rules}
    if declared:
        data["strategies"] = declared
    return data, without


def _fits(strategy: Strategy, class_name: str, model_type: str | None) -> bool:
    return (
        strategy.kind == MOE_EP_ROUTED and strategy.target_class == class_name and strategy.serves(model_type)
    )


def _declared(strategy: Strategy) -> dict[str, Any]:
    fields = {name: getattr(strategy, name) for name in STRATEGY.names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields.items()
        if value is not None
    }
