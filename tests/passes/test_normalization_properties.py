"""Random plans against the plain model of DESIGN section 3."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from naive_passes import STRATEGIES, naive_normalize

from hpplan.diagnostics import Place
from hpplan.documents.reader import Document
from hpplan.documents.source import Source
from hpplan.documents.writer import dump_yaml
from hpplan.passes.pipeline import PASSES, Normalized, normalize
from hpplan.passes.record import with_record, without_record
from hpplan.plan.model import KEY_ORDER, Plan
from hpplan.plan.rules import load_rules
from hpplan.plan.strategies import BUILT_IN, StrategyTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.passes.change import Change

OWN = {
    "own.shallow": ("X", ["?", "shared_experts"]),
    "own.deep": ("DeepseekV3MLP", ["*"]),
    "own.moe": ("DeepseekV3MoE", ["*.mlp", "[!e]*"]),
}
"""Strategies that the rules declare: one for a class that a built-in one serves too, two for others."""

LAYERS = ["a.1", "a.10"]
MODULES = [
    *("mlp", "mlp.1", "mlp.experts", "mlp.experts.0", "mlp.experts.0.mlp", "mlp.shared_experts"),
    *("mlp.shared_experts.1", "mlp2", "mlp2.shared_experts", "norm"),
]
FQNS = [
    "mlp",
    "mlp.shared_experts",
    *(f"{layer}.{module}" for layer in LAYERS for module in MODULES),
]
CLASSES = ["DeepseekV3MoE", "DeepseekV3MLP", "Qwen3MoeSparseMoeBlock", "X"]
PATTERNS = ["*.mlp", "*", "a.*", "a.1.mlp", "mlp", "*.experts.*", "a.1?.mlp", "[!a]*", "*.mlp.*", "A.*"]

entries = st.fixed_dictionaries(
    {"params": st.just({"weight": {"tp": "S(0)"}})},
    optional={
        "is_boundary": st.booleans(),
        "skip_source_lowering": st.booleans(),
        "in_src": st.just({}),
        "vendor_note": st.just("kept"),
    },
)
record_entries = st.fixed_dictionaries(
    {"pass": st.sampled_from(["ep-strip", "a-pass-of-others"]), "pattern": st.just("*")},
    optional={"class": st.sampled_from(CLASSES)},
)
rule_lists = st.lists(
    st.fixed_dictionaries(
        {
            "match": st.one_of(
                st.sampled_from(PATTERNS), st.lists(st.sampled_from([*PATTERNS, *FQNS]), max_size=3)
            ),
            "local_compute_fn": st.sampled_from([*STRATEGIES, *OWN, *STRATEGIES, "nobody.knows_this"]),
        },
        optional={"when": st.just("ep")},
    ),
    max_size=3,
)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a plan in which most modules have both a class and an entry, and some are below others."""
    fqns = draw(st.lists(st.sampled_from(FQNS), unique=True, max_size=10))
    if draw(st.booleans()):
        # A layer as models have it: a mixture of experts, and what its forward may own.
        layer = draw(st.sampled_from(LAYERS))
        owned = draw(st.lists(st.sampled_from(MODULES[1:]), unique=True, min_size=1, max_size=4))
        fqns = list(dict.fromkeys([*fqns, *(f"{layer}.{name}" for name in ("mlp", *owned))]))
    usual = {True: ["DeepseekV3MoE", *CLASSES], False: ["DeepseekV3MLP", *CLASSES]}
    parts = {fqn: draw(st.sampled_from(["both", "both", "both", "class", "entry"])) for fqn in fqns}
    plan: dict[str, Any] = {
        "boundary_classes": {
            fqn: draw(st.sampled_from(usual[fqn.endswith("mlp")]))
            for fqn, part in parts.items()
            if part != "entry"
        },
        "param_plan": {fqn: draw(entries) for fqn, part in parts.items() if part != "class"},
    }
    optional = {
        "external_state_classes": st.lists(st.sampled_from(CLASSES), max_size=2),
        "parallel_dims": st.fixed_dictionaries({"ep_size": st.integers(1, 2)}),
        "unknown_field": st.just([1, {"a": None}]),
        "normalization": st.fixed_dictionaries(
            {"stripped": st.dictionaries(st.sampled_from(FQNS), record_entries, max_size=4)}
        ),
    }
    return plan | draw(st.fixed_dictionaries({}, optional=optional))


def run(plan: dict[str, Any], rules: list[dict[str, Any]], **options: Any) -> Normalized:  # noqa: ANN401 - as they are
    """Normalize plain data with the built-in strategies and our own."""
    declared = [
        {"target": target, "kind": "k", "target_class": name, "strip_boundary_subpatterns": patterns}
        for target, (name, patterns) in OWN.items()
    ]
    document = Document(Source("rules", "", "yaml"), {"rules": rules, "strategies": declared})
    found = load_rules(document)
    return normalize(Plan(plan, Place("plan")), found, StrategyTable(BUILT_IN, found.strategies), **options)


def recorded(plan: dict[str, Any], rules: list[dict[str, Any]], **options: Any) -> dict[str, Any]:  # noqa: ANN401 - as they are
    """Return the data of the normalized plan with its record."""
    return dict(with_record(Plan(plan, Place("plan")), run(plan, rules, **options)).data)


def expected(plan: dict[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the plain model makes of a plan."""
    return naive_normalize(plan, rules, {**STRATEGIES, **OWN})


def shuffled(data: dict[str, Any], draw: st.DataObject) -> dict[str, Any]:
    """Return the same plan with the keys of its mappings in another order."""
    keys = draw.draw(st.permutations(list(data)))
    inner = {"boundary_classes", "param_plan"}
    return {key: shuffled(data[key], draw) if key in inner else data[key] for key in keys}


REACHED: dict[str, Callable[[tuple[Change, ...]], bool]] = {
    "a strip below a target": lambda found: any(change.cause.below for change in found),
    "targets of two strategies": lambda found: len({change.cause.rule for change in found} - {None}) > 1,
    "all passes": lambda found: (
        {change.cause.pass_name for change in found} == {step.name for step in PASSES}
    ),
    "a target below a target": lambda found: any(
        change.cause.below is None and other.cause.below is None and change.fqn.startswith(f"{other.fqn}.")
        for change in found
        for other in found
        if change.cause.rule and other.cause.rule
    ),
    "a mark beside a strip below": lambda found: (
        any(change.cause.below for change in found)
        and any(change.field == "skip_source_lowering" for change in found)
    ),
}


@pytest.mark.slow
def test_the_random_plans_reach() -> None:
    """The properties below would hold because nothing that could break them is ever drawn."""
    missed = set(REACHED)

    def reach(drawn: tuple[dict[str, Any], list[dict[str, Any]]]) -> bool:
        changes = run(*drawn).changes
        missed.difference_update([what for what in missed if REACHED[what](changes)])
        return not missed

    one = settings(phases=[Phase.generate], max_examples=5000)
    with suppress(NoSuchExample):
        find(st.tuples(plans(), rule_lists), reach, settings=one)
    assert missed == set()


@given(plans(), rule_lists)
@settings(max_examples=500)
def test_equals_the_plain_model(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """The passes depart from DESIGN section 3, lose data, or write into their input."""
    before = deepcopy(plan)
    assert run(plan, rules).plan.data == expected(before, rules)
    assert plan == before


@given(plans(), rule_lists)
def test_idempotent(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """A second run changes a normalized plan, bare or recorded."""
    bare = dict(without_record(run(plan, rules).plan).data)
    assert run(bare, rules).plan.data == bare
    with_its_record = recorded(plan, rules)
    assert recorded(with_its_record, rules) == with_its_record


@given(plans(), plans(), rule_lists)
def test_what_joins_a_normalized_plan(
    plan: dict[str, Any], more: dict[str, Any], rules: list[dict[str, Any]]
) -> None:
    """Modules that join a normalized plan end otherwise than if they had always been there."""
    plan.pop("normalization", None)
    joining = {fqn for name in ("boundary_classes", "param_plan") for fqn in more[name]}
    joining -= {*plan["boundary_classes"], *plan["param_plan"]}

    def joined(data: dict[str, Any]) -> dict[str, Any]:
        return data | {
            name: data[name] | {fqn: value for fqn, value in more[name].items() if fqn in joining}
            for name in ("boundary_classes", "param_plan")
        }

    later = recorded(joined(recorded(plan, rules)), rules)
    later.pop("normalization", None)
    at_once = expected(joined(plan), rules)
    for data in (later, at_once):
        for fqn, entry in data["param_plan"].items():
            if fqn not in data["boundary_classes"]:
                # A boundary may have been marked before what joined took it.
                entry.pop("skip_source_lowering", None)
    assert later == at_once


@given(plans(), rule_lists)
def test_one_pass_at_a_time(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """Running the passes in three calls gives another plan, or another record, than running them in one."""
    at_once = recorded(plan, rules)
    one_by_one = plan
    for step in PASSES:
        one_by_one = recorded(one_by_one, rules, passes=[step])
    blocks = [data.pop("normalization", {}).get("stripped") for data in (at_once, dict(one_by_one))]
    assert blocks[0] == blocks[1]
    one_by_one.pop("normalization", None)
    assert one_by_one == at_once


def test_order_of_patterns() -> None:
    """Which of two rules' patterns is on record depends on the order of other patterns of one of them."""
    plan = {
        "boundary_classes": {"a.1.mlp": "DeepseekV3MoE", "mlp": "DeepseekV3MoE"},
        "param_plan": {"a.1.mlp.shared_experts": {"is_boundary": True}},
    }
    found = []
    for first in (["a.*", "*"], ["*", "a.*"]):
        rules = [{"match": match, "local_compute_fn": [*STRATEGIES][1]} for match in (first, "*.mlp")]
        found.append(recorded(plan, rules)["normalization"]["stripped"])
        assert {fqn: cause["pattern"] for fqn, cause in found[-1].items()} == {
            "a.1.mlp": "*",
            "a.1.mlp.shared_experts": "shared_experts",
            "mlp": "*",
        }
    assert found[0] == found[1]


@pytest.mark.slow
@given(plans(), rule_lists, st.data())
@settings(max_examples=200)
def test_order_does_not_matter(
    plan: dict[str, Any], rules: list[dict[str, Any]], data: st.DataObject
) -> None:
    """The order of keys, of rules or of patterns, or how rules share them, shows in what is written."""
    others: list[dict[str, Any]] = []
    for rule in data.draw(st.permutations(rules)):
        match = rule["match"]
        matches = match if isinstance(match, str) else data.draw(st.permutations(match))
        apart = isinstance(match, list) and data.draw(st.booleans())
        others += ({**rule, "match": one} for one in (matches if apart else [matches]))
    other = recorded(shuffled(plan, data), others)
    assert dump_yaml(other, KEY_ORDER) == dump_yaml(recorded(plan, rules), KEY_ORDER)


@given(plans(), rule_lists)
def test_the_cause_on_record(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """Of several patterns or targets that strip a module, another than the first by name is on record."""
    plan.pop("normalization", None)
    known = {**STRATEGIES, **OWN}
    sized = plan.get("parallel_dims", {}).get("ep_size", 1) > 1
    said = [
        (rule["local_compute_fn"], pattern)
        for rule in rules
        if rule["local_compute_fn"] in known and ("when" not in rule or sized)
        for pattern in ([rule["match"]] if isinstance(rule["match"], str) else rule["match"])
    ]
    fqns = {*plan["boundary_classes"], *plan["param_plan"]}
    targets = [
        (rule, fqn, pattern)
        for rule, pattern in said
        for fqn in fqns
        if plan["boundary_classes"].get(fqn) == known[rule][0] and fnmatchcase(fqn, pattern)
    ]
    owned = [
        (rule, above, pattern, fqn)
        for rule, above, _ in targets
        for fqn in plan["param_plan"]
        for pattern in known[rule][1]
        if fqn.startswith(f"{above}.") and fnmatchcase(fqn[len(above) + 1 :], pattern)
    ]
    stripped = recorded(plan, rules).get("normalization", {}).get("stripped", {})
    for fqn, found in stripped.items():
        first: tuple[str, ...]
        if "below" in found:
            first = min((rule, above, pattern) for rule, above, pattern, at in owned if at == fqn)
        elif "rule" in found:
            first = min((rule, pattern) for rule, at, pattern in targets if at == fqn)
        else:
            continue
        assert tuple(found[name] for name in ("rule", "below", "pattern") if name in found) == first


@given(plans(), rule_lists)
def test_changes_tell_everything(plan: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """The change log leaves out a change, or tells of one that was not made."""
    normalized = run(plan, rules)
    replayed = deepcopy(plan)
    for change in normalized.changes:
        if change.field == "boundary_classes":
            assert replayed["boundary_classes"].pop(change.fqn) == change.before
        else:
            assert replayed["param_plan"][change.fqn].get(change.field) == change.before
            replayed["param_plan"][change.fqn][change.field] = change.after
    assert replayed == normalized.plan.data
