"""Modules whose forward is not the model's own: a strategy's, or one that spreads experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.passes.pipeline import normalize
from hpplan.passes.record import with_record
from hpplan.plan.fqn import ancestors
from hpplan.plan.model import is_boundary
from hpplan.plan.rules import rules_of_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.plan.model import Plan
    from hpplan.plan.rules import RuleSet
    from hpplan.plan.strategies import StrategyTable


def owned_modules(
    plan: Plan,
    rules: RuleSet | None,
    strategies: StrategyTable,
    classes: Mapping[str, str],
    *,
    ep: bool,
) -> dict[str, str]:
    """Return the modules that cannot be run as the plan says, by FQN, and why.

    `classes` are those of the model: a plan does not name that of a module that was stripped.
    With `ep` the mesh spreads experts over ranks.
    """
    entries = plan.param_plan
    stripped = {
        fqn: classes[fqn] for fqn, entry in entries.items() if fqn in classes and not is_boundary(entry)
    }
    known = plan.replace(boundary_classes={**stripped, **plan.boundary_classes})
    record = with_record(known, normalize(known, rules_of_plan(plan) if rules is None else rules, strategies))
    owned = {fqn: _by(cause) for fqn, cause in record.stripped.items()}
    for fqn, entry in entries.items() if ep else ():
        layouts = (entry.get("params") or {}).values()
        if any(layout.get("ep", "R") != "R" for layout in layouts):
            around = next((one for one in (fqn, *ancestors(fqn)) if is_boundary(entries.get(one, {}))), fqn)
            owned.setdefault(
                around, "its experts are spread over ep, by a forward that is not installed here"
            )
    return owned


def _by(cause: Mapping[str, str]) -> str:
    rule = cause.get("rule")
    return (
        f"its forward is that of {rule}"
        if rule
        else f"{cause['pass']} took its boundary: it has its own forward"
    )
