"""A pass that nobody here wrote: what is counted is what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hpplan.diagnostics import Place
from hpplan.passes.change import Cause, Change, Did
from hpplan.passes.pipeline import PASSES, normalize
from hpplan.plan.model import Plan
from hpplan.plan.rules import RuleSet
from hpplan.plan.strategies import BUILT_IN, StrategyTable
from hpplan.reports.changes.table import summarize

if TYPE_CHECKING:
    from hpplan.passes.facts import Facts


class RegionMark:
    """Turn on `region_dispatch` of every entry."""

    name: ClassVar[str] = "region-mark"
    did: ClassVar[Did] = Did("dispatch", "dispatched", ("region", "regions"))

    def apply(self, plan: Plan, facts: Facts) -> tuple[Plan, list[Change]]:
        """Turn it on."""
        del facts
        cause = Cause(self.name, self.did, "Regions are dispatched.", "*")
        entries = {fqn: {**entry, "region_dispatch": True} for fqn, entry in plan.param_plan.items()}
        changes = [Change(fqn, "region_dispatch", None, True, cause) for fqn in entries]  # noqa: FBT003 - a field's value
        return plan.replace(param_plan=entries), changes


def test_a_new_pass_is_counted_by_its_own_words() -> None:
    """It used to be reported as boundaries that were stripped."""
    plan = Plan(
        {
            "param_plan": {"a": {"is_boundary": True}, "b": {}, "c": {}},
            "boundary_classes": {"a": "A"},
            "external_state_classes": ["A"],
        },
        Place("plan"),
    )
    normalized = normalize(plan, RuleSet(()), StrategyTable(BUILT_IN), passes=(*PASSES, RegionMark()))
    assert (
        summarize(normalized.changes)
        == "1 boundary stripped (external-state-strip 1), 3 regions dispatched (region-mark 3)"
    )
    assert [entry["region_dispatch"] for entry in normalized.plan.param_plan.values()] == [True] * 3
