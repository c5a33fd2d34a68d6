"""ep-strip: an expert-parallel strategy's forward calls its sub-modules itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hpplan.passes.change import Cause
from hpplan.passes.strip import strip_boundaries
from hpplan.plan.fqn import matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.passes.change import Change
    from hpplan.passes.facts import EpRule, Facts
    from hpplan.plan.model import Plan


@dataclass(frozen=True, slots=True)
class EpStrip:
    """Take the boundary of each EP target, and of the modules below it that its forward owns.

    Before: `model.layers.1.mlp: DeepseekV3MoE`, matched by a rule for the
    DeepSeek-V3 recipe, with a boundary at `model.layers.1.mlp.shared_experts`.
    After: neither is a boundary, and neither has a class.
    """

    name: ClassVar[str] = "ep-strip"

    def apply(self, plan: Plan, facts: Facts) -> tuple[Plan, list[Change]]:
        """Strip; each strategy's patterns reach only below its own targets."""
        # The first cause of an FQN is the one on record, so the order must not depend on that of the rules.
        rules = sorted(facts.ep_rules, key=lambda item: (item.strategy.target, item.patterns))
        targets = [found for item in rules for found in _targets(item, facts)]
        causes: dict[str, Cause] = {}
        for fqn, cause, _ in targets:
            causes.setdefault(fqn, cause)
        for fqn, _, item in targets:
            for below, cause in _owned(fqn, item, facts):
                causes.setdefault(below, cause)
        return strip_boundaries(plan, causes)


def _targets(item: EpRule, facts: Facts) -> Iterator[tuple[str, Cause, EpRule]]:
    strategy = item.strategy
    for pattern in sorted(item.patterns):
        cause = Cause(
            EpStrip.name,
            f"The rule for {strategy.target} matches it with '{pattern}', and its class "
            f"{strategy.target_class} is the one whose forward that strategy replaces.",
            pattern,
            rule=strategy.target,
        )
        for fqn in facts.names.matching(pattern):
            # The class of a target that was stripped earlier is on record: what joined it since is found.
            if facts.classes.get(fqn) == strategy.target_class:
                yield fqn, cause, item


def _owned(target: str, item: EpRule, facts: Facts) -> Iterator[tuple[str, Cause]]:
    strategy = item.strategy
    if not strategy.strip_boundary_subpatterns:
        return
    patterns = [
        (
            matcher(pattern),
            Cause(
                EpStrip.name,
                f"The forward that {strategy.target} gives the module above calls it itself "
                f"(strip pattern '{pattern}').",
                pattern,
                rule=strategy.target,
                below=target,
            ),
        )
        for pattern in sorted(strategy.strip_boundary_subpatterns)
    ]
    skip = len(target) + 1
    for fqn in facts.entries_below(target):
        suffix = fqn[skip:]
        for matches, cause in patterns:
            if matches(suffix):
                yield fqn, cause
                break
