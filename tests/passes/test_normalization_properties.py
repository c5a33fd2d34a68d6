"""Random plans against the plain model of DESIGN section 3."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from naive_passes import STRATEGIES, naive_normalize

from hpplan.diagnostics import Place
from hpplan.documents.reader import Document
from hpplan.documents.source import Source
from hpplan.documents.writer import dump_yaml
from hpplan.passes.pipeline import normalize
from hpplan.passes.record import with_record
from hpplan.plan.model import KEY_ORDER, Plan
from hpplan.plan.rules import load_rules
from hpplan.plan.strategies import BUILT_IN, StrategyTable

SEGMENTS = ["mlp", "experts", "shared_experts", "0", "1", "10", "a", "mlp2"]
CLASSES = ["DeepseekV3MoE", "Qwen3MoeSparseMoeBlock", "DeepseekV3MLP", "X"]
fqns = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=4).map(".".join)
wild = st.lists(st.sampled_from([*SEGMENTS, "*", "?", "[0-9]", "m*p"]), min_size=1, max_size=3).map(".".join)
entries = st.fixed_dictionaries(
    {"params": st.just({"weight": {"tp": "S(0)"}})},
    optional={
        "is_boundary": st.booleans(),
        "skip_source_lowering": st.booleans(),
        "in_src": st.just({}),
        "vendor_note": st.just("kept"),
    },
)
plans = st.fixed_dictionaries(
    {
        "boundary_classes": st.dictionaries(fqns, st.sampled_from(CLASSES), max_size=8),
        "param_plan": st.dictionaries(fqns, entries, max_size=10),
    },
    optional={
        "external_state_classes": st.lists(st.sampled_from(CLASSES), max_size=2),
        "unknown_field": st.just([1, {"a": None}]),
    },
)
rule_lists = st.lists(
    st.fixed_dictionaries(
        {
            "match": st.one_of(wild, fqns, st.lists(wild, max_size=3)),
            "local_compute_fn": st.sampled_from([*STRATEGIES, "nobody.knows_this"]),
        }
    ),
    max_size=3,
)


def run(plan: dict[str, Any], rules: list[dict[str, Any]]) -> tuple[Plan, Plan]:
    """Return the normalized plan, bare and with its record."""
    document = Document(Source("rules", "", "yaml"), {"rules": rules})
    before = Plan(plan, Place("plan"))
    normalized = normalize(before, load_rules(document), StrategyTable(BUILT_IN))
    return normalized.plan, with_record(before, normalized)


def shuffled(data: dict[str, Any], draw: st.DataObject) -> dict[str, Any]:
    """Return the same plan with the keys of its mappings in another order."""
    keys = draw.draw(st.permutations(list(data)))
    inner = {"boundary_classes", "param_plan"}
    return {key: shuffled(data[key], draw) if key in inner else data[key] for key in keys}


@given(plans, rule_lists)
def test_equals_the_plain_model(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """The passes depart from DESIGN section 3, lose data, or write into their input."""
    before = deepcopy(plan)
    assert run(plan, rules)[0].data == naive_normalize(before, rules)
    assert plan == before


@given(plans, rule_lists)
def test_idempotent(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """A second run changes a normalized plan, bare or recorded."""
    bare, recorded = run(plan, rules)
    assert run(dict(bare.data), rules)[0].data == bare.data
    assert run(dict(recorded.data), rules)[1].data == recorded.data


@given(plans, rule_lists, st.data())
def test_order_does_not_matter(
    plan: dict[str, Any], rules: list[dict[str, Any]], data: st.DataObject
) -> None:
    """The order of keys or of rules shows in the bytes that are written, record included."""
    other = run(shuffled(plan, data), data.draw(st.permutations(rules)))[1]
    assert dump_yaml(other.data, KEY_ORDER) == dump_yaml(run(plan, rules)[1].data, KEY_ORDER)


@given(plans, rule_lists)
def test_changes_tell_everything(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """The change log leaves out a change, or tells of one that was not made."""
    document = Document(Source("rules", "", "yaml"), {"rules": rules})
    normalized = normalize(Plan(plan, Place("plan")), load_rules(document), StrategyTable(BUILT_IN))
    replayed = deepcopy(plan)
    for change in normalized.changes:
        if change.field == "boundary_classes":
            assert replayed["boundary_classes"].pop(change.fqn) == change.before
        else:
            assert replayed["param_plan"][change.fqn].get(change.field) == change.before
            replayed["param_plan"][change.fqn][change.field] = change.after
    assert replayed == normalized.plan.data
