"""A run over several documents: their kinds, what blocks, and what they say about each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.reader import parse_document
from hpplan.documents.source import Sources
from hpplan.errors import InvalidInput
from hpplan.plan.codes import BROKEN_STRATEGY_PLUGIN
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_writer import routes_to_data
from hpplan.validation.run import CheckRun
from hpplan.workload.workload import load_workload

WORKLOAD: dict[str, Any] = {
    "sequence": {"length": 8},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2}],
}
PLAN: dict[str, Any] = {
    "parallel_dims": {"tp_size": 2, "sequence_parallel": True},
    "boundary_classes": {},
    "param_plan": {"a": {}},
    "feature_exchange": WORKLOAD,
}


def found(
    *documents: tuple[str, object], rules: object = None, strategies: object = None, mesh: str | None = None
) -> list[tuple[str, str]]:
    """Return the document and the name of each finding."""
    sources = Sources()
    run = CheckRun(mesh=parse_mesh(mesh) if mesh else None)
    for name, data, step in (
        ("rules", rules, run.use_rules),
        ("strategies", strategies, run.use_strategies),
        *((name, data, run.check) for name, data in documents),
    ):
        if data is not None:
            step(parse_document(json.dumps(data).encode(), name, sources))
    run.finish()
    return [
        (item.place.document, item.code.name) for item, _ in sources.resolve([*run.blocking, *run.findings])
    ]


def routes(mesh: str = "tp=2,sp", **fields: object) -> dict[str, Any]:
    """Return the routing table of the workload as a document."""
    workload = load_workload({**WORKLOAD, **fields}, Place("w"))
    return routes_to_data(plan_routes(parse_mesh(mesh), workload))


def test_every_kind_in_order_has_no_finding() -> None:
    """What is in order must be silent, alone and together."""
    documents = [
        ("plan", PLAN),
        ("rules.yaml", {"rules": []}),
        ("strategies.yaml", {"strategies": [{"target": "mycompany.f", "kind": "moe_ep_routed"}]}),
        ("workload", WORKLOAD),
        ("routes", routes()),
    ]
    assert found(*documents) == []


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"rules": [{"match": "a"}]}, "missing-field"),
        ({"rules": [], "strategy": []}, "unknown-field"),
        ({"rules": [{"match": "a", "local_compute_fn": "mycompany.f"}]}, "unresolved-target"),
        ({"strategies": [{"target": "mycompany.f"}]}, "missing-field"),
        ({"strategies": [{"target": "a.f", "kind": "moe_ep_routed", "class": "M"}]}, "unknown-field"),
        ({**WORKLOAD, "sequence": {"length": 8, "cp_layout": "ring"}}, "unknown-cp-layout"),
        ({**PLAN, "feature_exchange": {**WORKLOAD, "dtype": "int3"}}, "unknown-dtype"),
        ({**PLAN, "parallel_dims": {"ep_size": 3}}, "ep-does-not-divide"),
        ({**PLAN, "injections": [{"local_compute_fn": "mycompany.f"}]}, "missing-field"),
        ({**routes(), "digest": "sha256:" + "0" * 64}, "digest-mismatch"),
        ({**routes(), "mode": "local"}, "routes-differ"),
    ],
)
def test_each_kind_of_document_is_checked(data: dict[str, Any], name: str) -> None:
    """A kind that is recognized and then not checked would look in order."""
    assert found(("d", data)) == [("d", name)]


def test_workloads_are_checked_on_the_mesh() -> None:
    """Nine tokens cannot be cut in two, which only the mesh tells."""
    odd = {**WORKLOAD, "sequence": {"length": 9}}
    assert found(("w", odd)) == []
    assert found(("w", odd), mesh="tp=2,sp") == [("w", "length-does-not-divide")]
    assert found(("p", {**PLAN, "feature_exchange": odd})) == [("p", "length-does-not-divide")]
    other = found(("p", {**PLAN, "feature_exchange": odd}), mesh="tp=1")
    assert other == [("p", "mesh-contradicts-plan")]  # which the length fits


def test_a_routing_table_of_another_plan() -> None:
    """The job is laid out by the plan, and the exchange by the table."""
    foreign = [("routes", "foreign-routes")]
    assert found(("plan", PLAN), ("routes", routes("tp=4,sp"))) == foreign
    assert found(("routes", routes("tp=2")), ("plan", PLAN)) == foreign
    assert found(("plan", PLAN), ("routes", routes(feature_width=2))) == foreign
    # Which producer has which item is left to the table, as the plan has no buckets.
    assert found(("plan", PLAN), ("routes", routes(buckets=[[], [0]]))) == []
    with_buckets = {**PLAN, "feature_exchange": {**WORKLOAD, "buckets": [[0], []]}}
    assert found(("plan", with_buckets), ("routes", routes(buckets=[[0], []]))) == []
    assert found(("plan", with_buckets), ("routes", routes(buckets=[[], [0]]))) == foreign


def test_a_routing_table_of_one_of_several_micro_batches() -> None:
    """A table of other items slips by a plan with many micro-batches, or those of all but one are refused."""
    second = {**WORKLOAD, "buckets": [[0], []], "feature_width": 3}
    plan = {**PLAN, "feature_exchange": {"micro_batches": [WORKLOAD, second]}}
    assert found(("plan", plan), ("routes", routes())) == []
    assert found(("plan", plan), ("routes", routes(feature_width=3, buckets=[[], [0]]))) == []
    assert found(("plan", plan), ("routes", routes(feature_width=2))) == [("routes", "foreign-routes")]


def test_a_routing_table_of_one_of_several_plans() -> None:
    """A table belongs to one plan; the others in the same run are no reason to complain."""
    other = {**PLAN, "parallel_dims": {"tp_size": 4, "sequence_parallel": True}}
    assert found(("a", PLAN), ("b", other), ("routes", routes("tp=4,sp"))) == []
    assert found(("a", PLAN), ("b", PLAN), ("routes", routes("tp=4,sp"))) == [("routes", "foreign-routes")]


def test_a_routing_table_beside_a_plan_without_sizes() -> None:
    """Names of axes and a workload tell as well whose table it is."""
    foreign = [("routes", "foreign-routes")]
    sizeless = {name: value for name, value in PLAN.items() if name != "parallel_dims"}
    named = {**sizeless, "mesh_dim_names": ["dp", "tp"]}
    assert found(("plan", sizeless), ("routes", routes())) == []
    assert found(("plan", sizeless), ("routes", routes(feature_width=2))) == foreign
    assert found(("plan", named), ("routes", routes())) == []
    assert found(("plan", named), ("routes", routes("dp=2,tp=2"))) == []
    assert foreign[0] in found(("plan", named), ("routes", routes("cp=2,tp=2")))
    assert found(("plan", {**named, "mesh_dim_names": ["cp", "tp"]}), ("routes", routes())) == foreign


def test_a_plan_that_says_nothing_of_the_exchange() -> None:
    """Without a mesh nobody can tell whose table it is."""
    silent = {"boundary_classes": {}, "param_plan": {"a": {}}}
    assert found(("plan", silent), ("routes", routes())) == []
    assert found(("plan", silent), ("routes", routes()), mesh="tp=4,sp") == [("routes", "foreign-routes")]


def test_a_finding_in_shared_rules_is_reported_once() -> None:
    """Two plans that share a rules file share its mistakes."""
    rules = {"rules": [{"match": "nothing.*", "replace_module": "mycompany.Linear"}]}
    assert found(("a", PLAN), ("b", PLAN), rules=rules) == [("rules", "unmatched-rule")]


def test_a_training_yaml_without_overrides() -> None:
    """`plan_overrides:` with nothing below it is a fault, or hides rules that stand beside it."""
    training = {"plan_overrides": None, "optimizer": {"lr": 1e-4}}
    assert found(("plan", PLAN), ("training", training), rules=training) == []
    assert found(("rules", {"rules": [], "plan_overrides": None})) == []


def test_strategies_of_a_file_join_the_others() -> None:
    """A strategy in `--strategies` resolves targets of the rules."""
    rules = {"rules": [{"match": "a", "local_compute_fn": "mycompany.f"}]}
    strategies = {"strategies": [{"target": "mycompany.f", "kind": "moe_ep_routed"}]}
    assert found(("p", PLAN), rules=rules) == [("rules", "unresolved-target")]
    assert found(("p", PLAN), rules=rules, strategies=strategies) == []
    without_target = {"strategies": [{"kind": "cp_attention"}]}
    assert found(("p", PLAN), strategies=without_target) == [("strategies", "missing-field")]


def test_a_broken_plugin_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that does not load is reported with the plan's own faults, not instead of them."""

    def broken() -> tuple[()]:
        raise InvalidInput([Diagnostic(BROKEN_STRATEGY_PLUGIN, "it does not load", Place("entry point a"))])

    monkeypatch.setattr("hpplan.validation.run.installed_strategies", broken)
    assert found(("p", {**PLAN, "param_plan": {}})) == [
        ("entry point a", "broken-strategy-plugin"),
        ("p", "empty-param-plan"),
    ]


def test_a_plan_beside_what_it_is_normalized_into() -> None:
    """Source and result, both committed, cannot be checked in one run; or a stale one excuses."""
    plan = {
        "boundary_classes": {"a": "M"},
        "external_state_classes": ["M"],
        "param_plan": {"a": {"is_boundary": True}},
    }
    made = {
        **plan,
        "boundary_classes": {},
        "param_plan": {"a": {"is_boundary": False}},
        "normalization": {"stripped": {"a": {"class": "M", "pass": "external-state-strip", "pattern": "M"}}},
    }
    bare = {name: value for name, value in made.items() if name != "normalization"}
    edited = {**plan, "model_type": "m"}
    assert found(("p", plan)) == [("p", "not-normalized")]
    assert found(("p", plan), ("made", made)) == found(("made", made), ("p", plan)) == []
    assert found(("p", plan), ("bare", bare)) == []
    assert found(("p", edited), ("made", made)) == [("p", "not-normalized")]
    assert found(("p", plan), ("same", {**plan, "normalization": {}})) == [
        ("p", "not-normalized"),
        ("same", "not-normalized"),
    ]


def test_the_command_that_normalizes() -> None:
    """Somebody types what the hint says, and normalizes without the rules, or another file."""
    plan = {"boundary_classes": {"a": "M"}, "external_state_classes": ["M"], "param_plan": {"a": {}}}
    run = CheckRun(model_type="llama")
    for step, name, data in (
        (run.use_rules, "my rules.yaml", {"rules": []}),
        (run.use_strategies, "s.yaml", {"strategies": []}),
        (run.check, "<stdin>", plan),
    ):
        step(parse_document(json.dumps(data).encode(), name))
    (finding,) = run.findings
    typed = "hpplan normalize - --rules 'my rules.yaml' --strategies s.yaml --model-type llama -o FILE"
    assert f"type `{typed}`" in (finding.hint or "")


def test_normalizing_would_settle_it() -> None:
    """Whoever reads the finding should know whether `hpplan normalize` makes it go away."""
    ep = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
    gathers = {"in_src": {"x": {"tp": "S(1)"}}, "in_dst": {"x": {"tp": "R"}}}
    plan = {
        "external_state_classes": ["DeepseekV3MoE"],
        "boundary_classes": {
            "l.0.mlp": "DeepseekV3MLP",
            "l.1.mlp": "DeepseekV3MoE",
            "l.1.mlp.shared_experts": "DeepseekV3MLP",
        },
        "param_plan": {
            "l.0.mlp": gathers,
            "l.1.mlp": {"is_boundary": True},
            "l.1.mlp.shared_experts": {"is_boundary": True},
        },
    }
    messages = []
    for rules in ([], [{"match": "*.mlp", "local_compute_fn": ep}]):
        run = CheckRun()
        run.use_rules(parse_document(json.dumps({"rules": rules}).encode(), "r"))
        run.check(parse_document(json.dumps(plan).encode(), "p"))
        (finding,) = (one for one in run.findings if one.code.name == "class-contracts-differ")
        messages.append((finding.message.partition("; ")[2], finding.hint))
    assert messages[0][0] == "normalizing does not settle this"
    assert messages[1] == ("normalizing settles this", "run `hpplan normalize`")


def test_a_bare_plan_must_be_validated_with_its_rules() -> None:
    """Without its record a plan looks broken in every layer; people must be told what is missing."""
    partial = {"out_src": {"y": {"tp": "P(sum)"}}, "out_dst": {"y": {"tp": "R"}}, "is_boundary": False}
    plan = {
        "mesh_dim_names": ["tp"],
        "boundary_classes": {},
        "param_plan": {f"l.{layer}.mlp": partial for layer in range(3)},
    }
    hints = []
    for record in (None, {}):
        run = CheckRun()
        data = plan if record is None else {**plan, "normalization": record}
        run.check(parse_document(json.dumps(data).encode(), "p"))
        (finding,) = run.findings
        assert finding.message.startswith("`y` of 'l.{0..2}.mlp' is P(sum) along `tp`, and")
        hints.append(finding.hint or "")
    assert "--bare" in hints[0]
    assert "--rules FILE" in hints[0]
    assert "--bare" not in hints[1]


@pytest.mark.parametrize(("text", "even"), [("S(-2)", "write S(1) "), ("SS(-2,4)", "write SS(1,4) ")])
def test_an_even_split_stays_strided(text: str, even: str) -> None:
    """Whoever follows the hint would get another layout."""
    entry = {"in_src": {"x": {"tp": text}}, "in_dst": {"x": {"tp": "R"}}}
    plan = {"boundary_classes": {"a": "A"}, "param_plan": {"a": entry}}
    run = CheckRun()
    run.check(parse_document(json.dumps(plan).encode(), "p"))
    (hint,) = [item.hint for item in run.findings]
    assert hint is not None
    assert hint.startswith(even)
