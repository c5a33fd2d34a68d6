"""The passes in the order they run, and the run itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from hpplan.diagnostics import Diagnostic
from hpplan.documents.collector import collector_paused
from hpplan.errors import UnusableArgument
from hpplan.passes.change import Change, Did
from hpplan.passes.ep_strip import EpStrip
from hpplan.passes.external_state_strip import ExternalStateStrip
from hpplan.passes.facts import Facts
from hpplan.passes.resolution import resolve_rules
from hpplan.passes.shared_class_mark import SharedClassMark
from hpplan.plan.model import Plan
from hpplan.plan.rules import RuleSet, model_type_for
from hpplan.plan.strategies import StrategyTable


class Pass(Protocol):
    """A function from plan to plan that says what it changed and why."""

    @property
    def name(self) -> str:
        """The pass's kebab-case name."""

    @property
    def did(self) -> Did:
        """What the pass does to a module, for counts."""

    def apply(self, plan: Plan, facts: Facts) -> tuple[Plan, list[Change]]:
        """Return the new plan and the changes, sharing with the old plan what stays."""


PASSES: tuple[Pass, ...] = (
    EpStrip(),
    ExternalStateStrip(),
    SharedClassMark(),
)


def passes_named(names: Iterable[str] | None) -> tuple[Pass, ...]:
    """Return passes by name, None standing for all, in the order in which they run.

    Raises UnusableArgument for a name that there is not.
    """
    if names is None:
        return PASSES
    wanted, known = list(names), [step.name for step in PASSES]
    for name in wanted:
        if name not in known:
            message = f"'{name}' is no pass here; the passes are {', '.join(known)}"
            raise UnusableArgument("passes", message)
    return tuple(step for step in PASSES if step.name in wanted)


class Normalized(NamedTuple):
    """A plan after the passes, with every change and what is odd about the rules.

    Changes are in the order of the passes, and sorted by FQN within one.
    """

    plan: Plan
    passes: tuple[str, ...]
    changes: tuple[Change, ...]
    warnings: tuple[Diagnostic, ...]


def normalize(
    plan: Plan,
    rules: RuleSet,
    strategies: StrategyTable,
    *,
    model_type: str | None = None,
    passes: Sequence[Pass] = PASSES,
    after: Callable[[Pass, Plan], None] | None = None,
) -> Normalized:
    """Run passes over a plan, which stays as it is.

    `model_type` wins over that of the rules, which wins over that of the plan.
    `after` is called with each pass and the plan it made.
    """
    model = model_type_for(plan, rules, model_type)
    changes: list[Change] = []
    with collector_paused():
        facts, warnings = resolve_rules(plan, rules.rules, strategies, model)
        for step in passes:
            plan, changed = step.apply(plan, facts)
            changes += sorted(changed)  # by FQN and field, which no two changes of a pass share
            if after is not None:
                after(step, plan)
    return Normalized(plan, tuple(step.name for step in passes), tuple(changes), tuple(warnings))
