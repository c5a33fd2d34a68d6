"""What the passes know besides the plan: remembered classes, indices, resolved rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hpplan.plan.fqn import FqnIndex
from hpplan.plan.model import Plan
from hpplan.plan.rules import Rule
from hpplan.plan.strategies import Strategy


class EpRule(NamedTuple):
    """An inline rule whose local compute target resolved to a strategy with a target class."""

    strategy: Strategy
    rule: Rule


class Facts(NamedTuple):
    """Facts about the plan as it was before the first pass.

    `classes` maps FQNs to remembered classes, with what earlier normalization
    stripped. `names` has every FQN that the plan speaks of.
    """

    plan: Plan
    classes: dict[str, str]
    names: FqnIndex
    ep_rules: tuple[EpRule, ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> Facts:
        """Gather the facts that do not depend on rules."""
        classes = plan.remembered_classes
        return cls(plan, classes, FqnIndex({**plan.param_plan, **classes}))

    def entries_below(self, fqn: str) -> Iterator[str]:
        """Yield the FQNs of `param_plan` strictly below a module, sorted; no pass adds or removes one."""
        # One index serves both questions: sorting a second one costs more than these look-ups.
        entries = self.plan.param_plan
        return (name for name in self.names.below(fqn) if name in entries)
