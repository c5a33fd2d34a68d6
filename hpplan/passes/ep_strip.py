"""ep-strip: an expert-parallel strategy's forward calls its sub-modules itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hpplan.passes.change import Cause, Change, Did
from hpplan.passes.facts import Facts
from hpplan.passes.strip import STRIPPED, strip_boundaries
from hpplan.plan.fqn import matcher
from hpplan.plan.model import Plan
from hpplan.plan.strategies import Strategy


@dataclass(frozen=True, slots=True)
class EpStrip:
    """Take the boundary of each EP target, and of the modules below it that its forward owns.

    Before: `model.layers.1.mlp: DeepseekV3MoE`, matched by a rule for the
    DeepSeek-V3 recipe, with a boundary at `model.layers.1.mlp.shared_experts`.
    After: neither is a boundary, and neither has a class.
    """

    name: ClassVar[str] = "ep-strip"
    did: ClassVar[Did] = STRIPPED

    def apply(self, plan: Plan, facts: Facts) -> tuple[Plan, list[Change]]:
        """Strip; each strategy's patterns reach only below its own targets.

        Of several causes the first by target of the rule, then by FQN, then by pattern is the one on
        record: neither the order of rules and patterns nor how rules share them shows.
        """
        patterns: dict[Strategy, set[str]] = {}
        for ep_rule in facts.ep_rules:
            patterns.setdefault(ep_rule.strategy, set()).update(ep_rule.rule.patterns)
        causes: dict[str, Cause] = {}
        owned: dict[str, Cause] = {}
        for strategy in sorted(patterns, key=lambda strategy: strategy.target):
            targets = _targets(strategy, sorted(patterns[strategy]), facts)
            for fqn in sorted(targets):
                causes.setdefault(fqn, targets[fqn])
                for below, cause in _owned(fqn, strategy, facts):
                    owned.setdefault(below, cause)
        return strip_boundaries(plan, owned | causes)


def _targets(strategy: Strategy, patterns: Sequence[str], facts: Facts) -> dict[str, Cause]:
    causes: dict[str, Cause] = {}
    for pattern in patterns:
        cause = Cause(
            EpStrip.name,
            STRIPPED,
            f"The rule for {strategy.target} matches it with '{pattern}', and its class "
            f"{strategy.target_class} is the one whose forward that strategy replaces.",
            pattern,
            rule=strategy.target,
        )
        for fqn in facts.names.matching(pattern):
            # The class of a target that was stripped earlier is on record: what joined it since is found.
            if facts.classes.get(fqn) == strategy.target_class:
                causes.setdefault(fqn, cause)
    return causes


def _owned(target: str, strategy: Strategy, facts: Facts) -> Iterator[tuple[str, Cause]]:
    if not strategy.strip_boundary_subpatterns:
        return
    patterns = [
        (
            matcher(pattern),
            Cause(
                EpStrip.name,
                STRIPPED,
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
