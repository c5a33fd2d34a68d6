"""Rules that come along with a frozen plan."""

from __future__ import annotations

from typing import Any

from hpplan.diagnostics import Place
from hpplan.models.expert_rules import expert_rules
from hpplan.plan.model import Plan
from hpplan.plan.strategies import BUILT_IN, MOE_EP_ROUTED, Strategy, StrategyTable

MINE = Strategy("my.ep", MOE_EP_ROUTED, "MyMoE", ("shared",), ("mine",))


def plan(**classes: str) -> Plan:
    """Return a plan with some classes, all of them external."""
    data: dict[str, Any] = {
        "model_type": "mine",
        "param_plan": {},
        "boundary_classes": {fqn.replace("_", "."): name for fqn, name in classes.items()},
        "external_state_classes": sorted({*classes.values()}),
    }
    return Plan(data, Place("plan"))


def test_a_built_in_strategy_is_pointed_at() -> None:
    """A rule without the strategy's own name finds no strategy."""
    data, without = expert_rules(
        plan(l_3_mlp="DeepseekV3MoE", l_10_mlp="DeepseekV3MoE"), StrategyTable(BUILT_IN)
    )
    assert data == {
        "rules": [
            {
                "match": "l.*.mlp",
                "when": "ep",
                "local_compute_fn": BUILT_IN[1].target,
            }
        ]
    }
    assert without == []


def test_another_strategy_is_declared_as_well() -> None:
    """The rules file is given to other commands, which do not know what it was made with."""
    data, without = expert_rules(plan(a_0="MyMoE", b_0_c="MyMoE"), StrategyTable(BUILT_IN, [MINE]))
    assert data["rules"] == [{"match": ["a.*", "b.*.c"], "when": "ep", "local_compute_fn": "my.ep"}]
    assert data["strategies"] == [
        {
            "target": "my.ep",
            "kind": "moe_ep_routed",
            "target_class": "MyMoE",
            "strip_boundary_subpatterns": ["shared"],
            "model_types": ["mine"],
        }
    ]
    assert without == []


def test_no_strategy_or_several_are_left_to_the_reader() -> None:
    """Of two strategies, the wrong one trains on something else."""
    other = MINE._replace(target="my.other")
    foreign = MINE._replace(target="not.mine", target_class="YourMoE", model_types=("yours",))
    table = StrategyTable(BUILT_IN, [MINE, other, foreign])
    assert expert_rules(plan(a_0="MyMoE", b_0="YourMoE"), table) == ({"rules": []}, ["MyMoE", "YourMoE"])
