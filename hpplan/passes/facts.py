"""What the passes know besides the plan: remembered classes, indices, resolved rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hpplan.plan.fqn import FqnIndex

if TYPE_CHECKING:
    from hpplan.plan.model import Plan
    from hpplan.plan.rules import Rule
    from hpplan.plan.strategies import Strategy


@dataclass(frozen=True, slots=True)
class EpRule:
    """An inline rule whose local compute target resolved to a strategy with a target class."""

    patterns: tuple[str, ...]
    strategy: Strategy
    rule: Rule


@dataclass(frozen=True)
class Facts:
    """Facts about the plan as it was before the first pass."""

    plan: Plan
    ep_rules: tuple[EpRule, ...] = ()

    @cached_property
    def classes(self) -> dict[str, str]:
        """FQN to remembered class, with what earlier normalization stripped."""
        return self.plan.remembered_classes

    @cached_property
    def entries(self) -> FqnIndex:
        """The FQNs of `param_plan`; no pass adds or removes one."""
        return FqnIndex(self.plan.param_plan)

    @cached_property
    def names(self) -> FqnIndex:
        """Every FQN that the plan speaks of."""
        return FqnIndex({**self.plan.param_plan, **self.classes})
