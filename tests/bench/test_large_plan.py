"""The plan that speed is measured on is the one that section 8 of the design means, and normalizes right."""

from __future__ import annotations

from typing import Any

from large_plan import large_plan, large_rules

from hpplan.documents.reader import Document
from hpplan.documents.source import Source
from hpplan.passes.pipeline import normalize
from hpplan.plan.model import load_plan
from hpplan.plan.rules import load_rules
from hpplan.plan.strategies import BUILT_IN, StrategyTable


def document(data: dict[str, Any]) -> Document:
    """Wrap data as a document without text."""
    return Document(Source("large.json", "", "json"), data)


def test_large_plan_normalizes_by_one_rule_a_layer() -> None:
    """A failure means that benchmarks time a plan on which the passes have something else to do."""
    data = large_plan()
    assert len(data["param_plan"]) == 15_153
    rules = load_rules(document({"rules": large_rules()}))
    assert len(rules.rules) == 58
    done = normalize(load_plan(document(data)), rules, StrategyTable(BUILT_IN))
    assert done.warnings == ()
    gone = data["boundary_classes"].keys() - done.plan.boundary_classes.keys()
    # In each of 58 layers: the block, its shared experts and 256 experts.
    assert len(gone) == 58 * 258
    marked = [fqn for fqn, entry in done.plan.param_plan.items() if "skip_source_lowering" in entry]
    assert marked == [f"model.layers.{layer}.mlp" for layer in range(3)]


def test_nodes_are_not_shared() -> None:
    """A failure means that writers could win time on one node that stands in many places, as files cannot."""
    entries = large_plan(layers=4, experts=2)["param_plan"].values()
    layouts = [layout for entry in entries for layout in entry["params"].values()]
    assert len({id(layout) for layout in layouts}) == len(layouts)
