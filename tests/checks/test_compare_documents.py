"""What `hpplan diff` takes for a difference, and what it does not."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from random_documents import random_documents
from random_workloads import random_workload

from hpplan.comparison.changes import ABSENT, ChangedNames, Differences, FieldChange
from hpplan.comparison.plans import compare_plans
from hpplan.comparison.routes import compare_routes
from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_yaml
from hpplan.plan.model import Plan, load_plan
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from hpplan.routing.transfers import Granularity

SAME = Differences(removed=(), added=(), changed=(), fields=())


def plan(layers: int = 3, entry: dict[str, Any] | None = None, **fields: Any) -> Plan:  # noqa: ANN401 - plan data
    """Return a plan with one MLP for each layer."""
    names = [f"model.layers.{layer}.mlp" for layer in range(layers)]
    usual = {"params": {"w": {"tp": "S(0)"}}} if entry is None else entry
    made = {
        "boundary_classes": dict.fromkeys(names, "M"),
        "param_plan": {name: deepcopy(usual) for name in names},
    }
    return Plan({**made, **fields}, Place("p"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"params": {"w": {"tp": "R"}}}, {"params": {"w": {}}}),
        ({"in_src": {"x": {"tp": "S(1)", "cp": "R"}}}, {"in_src": {"x": {"tp": "S(1)"}}}),
        ({"in_src": {"x": {}}}, {"in_src": {"x": {}}, "is_boundary": True}),
        ({"out_names": [], "skip_source_lowering": False}, {}),
        ({"is_boundary": False}, {}),
    ],
)
def test_spelling_is_no_difference(before: dict[str, Any], after: dict[str, Any]) -> None:
    """A reviewer who is shown spelling stops looking for meaning."""
    assert compare_plans(plan(entry=before), plan(entry=after)) == SAME


def test_key_order_is_no_difference() -> None:
    """HyperParallel's own files come back sorted by character."""
    one = plan(11, model_type="m", mesh_dim_names=["tp"])
    data = {key: one.data[key] for key in reversed(one.data)}
    data["param_plan"] = dict(reversed(one.param_plan.items()))
    assert compare_plans(one, Plan(data, Place("q"))) == SAME


def test_changes_are_folded_over_layers() -> None:
    """Sixty equal changes are one change."""
    after = plan(5, {"params": {"w": {"tp": "S(1)"}}, "is_boundary": True})
    after.param_plan["model.layers.1.mlp"]["params"]["w"] = {"tp": "S(0)"}
    after.boundary_classes["model.layers.1.mlp"] = "N"
    found = compare_plans(plan(4), after)
    assert found.added == ("model.layers.4.mlp",)
    assert found.removed == ()
    boundary = FieldChange("is_boundary", before=False, after=True)
    assert found.changed == (
        ChangedNames(
            ("model.layers.{0,2,3}.mlp",),
            3,
            (boundary, FieldChange("params.w", {"tp": "S(0)"}, {"tp": "S(1)"})),
        ),
        ChangedNames(("model.layers.1.mlp",), 1, (FieldChange("class", "M", "N"), boundary)),
    )


def test_fields_of_the_plan() -> None:
    """A mesh that changed is a difference although no FQN changed."""
    before = plan(mesh_dim_names=["tp"], parallel_dims={"tp_size": 2, "cp_size": 1}, injections=[])
    after = plan(parallel_dims={"tp_size": 4, "cp_size": 1}, external_state_classes=["B", "A"])
    assert compare_plans(before, after).fields == (
        FieldChange("mesh_dim_names", ["tp"], ABSENT),
        FieldChange("parallel_dims.tp_size", 2, 4),
        FieldChange("external_state_classes", ABSENT, ["A", "B"]),
    )


def test_the_model_type_may_stand_in_two_places() -> None:
    """`source.model_type` says the same as `model_type`, and the order of classes says nothing."""
    before = plan(model_type="m", external_state_classes=["A", "B"])
    after = plan(source={"model_type": "m"}, external_state_classes=["B", "A"])
    assert compare_plans(before, after) == SAME


def test_injections_are_compared_by_what_they_match() -> None:
    """One record for each of sixty layers folds like the layers themselves."""
    before = plan(injections=[{"match": f"l.{layer}", "ep_size": 4} for layer in range(5)])
    after = plan(injections=[{"match": ["l.3", "l.4"], "ep_size": 4}, {"match": "l.2", "ep_size": 8}])
    found = compare_plans(before, after)
    assert found.removed == ("injections: l.{0,1}",)
    assert found.changed == (ChangedNames(("injections: l.2",), 1, (FieldChange("ep_size", 4, 8),)),)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"local_compute_fn": "a.b"}, {"local_compute_fn": {"_target_": "a.b"}}),
        ({"local_compute_fn": "a.b"}, {"local_compute_target": {"target": "a.b"}}),
        ({"replace_module": {"_target_": "a.b", "k": 1}}, {"factory": {"_target_": "a.b", "k": 1}}),
        ({"inner_wrapper": "a.b"}, {"inner_wrapper": "a.b", "when": None, "replace_target": None}),
        ({"inner_wrapper": "a.b"}, {"inner_wrapper": "a.b", "inner_wrapper_target": "ignored"}),
    ],
)
def test_the_spelling_of_a_record_is_no_difference(before: dict[str, Any], after: dict[str, Any]) -> None:
    """HyperParallel's YAML and its IR have other names for the same things, and the IR writes nulls."""
    one = plan(injections=[{"match": "a", **before}])
    other = plan(injections=[{"fqns": None, "match": [], "fqn": "a", **after}])
    assert compare_plans(one, other) == SAME
    changed = plan(injections=[{"match": "a", **before, "when": "ep"}])
    assert compare_plans(changed, other).changed == (
        ChangedNames(("injections: a",), 1, (FieldChange("when", "ep", ABSENT),)),
    )


def test_a_missing_size_is_one() -> None:
    """Absent axes are 1; a plan that says nothing of sizes is another thing."""
    one = plan(parallel_dims={"tp_size": 2, "dp_size": 1, "sequence_parallel": False})
    assert compare_plans(one, plan(parallel_dims={"tp_size": 2})) == SAME
    assert compare_plans(one, plan(parallel_dims={"cp_size": 2})).fields == (
        FieldChange("parallel_dims.cp_size", 1, 2),
        FieldChange("parallel_dims.tp_size", 2, 1),
    )
    assert not compare_plans(one, plan()).equal


def test_a_repeated_class_is_no_difference() -> None:
    """A list of classes is a set."""
    one, other = (plan(external_state_classes=names) for names in (["A", "A", "B"], ["B", "A"]))
    assert compare_plans(one, other) == SAME


ITEM = {"batch_index": 0, "decoder_token_start": 0, "output_rows": 2}


def test_workloads_are_compared_by_what_they_mean() -> None:
    """A field that says what it means anyway is spelling, and so is a single run of tokens."""
    items = [{"item_id": number, **ITEM, "batch_index": number} for number in range(4)]
    one = plan(feature_exchange={"sequence": {"length": 8}, "items": items})
    spans = [{"token_start": 0, "rows": 2}]
    spelled = [{**items[0], "spans": spans}, *items[1:]]
    other = {"dtype": "bfloat16", "sequence": {"length": 8, "pad": False}, "items": spelled, "payloads": 1}
    assert compare_plans(one, plan(feature_exchange=other)) == SAME
    moved = [{**item, "decoder_token_start": 3} if item["item_id"] else item for item in items]
    found = compare_plans(one, plan(feature_exchange={"sequence": {"length": 9}, "items": moved}))
    assert found.changed == (
        ChangedNames(("feature_exchange.items.{1..3}",), 3, (FieldChange("decoder_token_start", 0, 3),)),
    )
    assert found.fields == (FieldChange("feature_exchange.sequence.length", 8, 9),)
    replicas = {"sequence": {"length": 8}, "replicas": [{"items": items[:1]}, {"items": []}]}
    found = compare_plans(one, plan(feature_exchange=replicas))
    assert (found.removed, found.added) == (
        ("feature_exchange.items.{0..3}",),
        ("feature_exchange.replicas.0.items.0",),
    )


def test_what_a_workload_does_not_know_is_compared_too() -> None:
    """A misspelt field that was corrected, or any other that hpplan keeps, is no difference."""
    spans = [{"token_start": 0, "rows": 1}, {"token_start": 4, "rows": 1}]

    def batch(mark: int) -> dict[str, Any]:
        item = {"item_id": 7, **ITEM, "mark": {"of": mark}}
        several = {"item_id": 9, **ITEM, "batch_index": 1, "spans": [spans[0], {**spans[1], "mark": mark}]}
        return {"items": [item, several] if mark == 1 else [several, item], "paylods": mark}

    def workload(mark: int) -> dict[str, Any]:
        return {"sequence": {"length": 8, "mark": mark}, **batch(mark)}

    one, other = (plan(feature_exchange=workload(mark)) for mark in (1, 2))
    found = compare_plans(one, other)
    assert found.changed == (
        ChangedNames(("feature_exchange.items.7",), 1, (FieldChange("mark.of", 1, 2),)),
        ChangedNames(("feature_exchange.items.9",), 1, (FieldChange("spans.1.mark", 1, 2),)),
    )
    assert found.fields == (
        FieldChange("feature_exchange.sequence.mark", 1, 2),
        FieldChange("feature_exchange.paylods", 1, 2),
    )
    assert compare_plans(one, one) == SAME
    replicas = (
        plan(feature_exchange={"sequence": {"length": 8}, "replicas": [batch(mark)]}) for mark in (1, 2)
    )
    found = compare_plans(*replicas)
    assert [one.names for one in found.changed] == [
        ("feature_exchange.replicas.0.items.7",),
        ("feature_exchange.replicas.0.items.9",),
    ]
    assert found.fields == (FieldChange("feature_exchange.replicas.0.paylods", 1, 2),)


def test_workloads_that_do_not_load_are_compared_as_they_are() -> None:
    """What is wrong with a workload is for `hpplan validate` to say."""
    one, other = (plan(feature_exchange={"items": 1, "sequence": {"length": size}}) for size in (1, 2))
    assert compare_plans(one, one) == SAME
    assert compare_plans(one, other).fields == (FieldChange("feature_exchange.sequence.length", 1, 2),)
    several = plan(feature_exchange={"micro_batches": []})
    assert compare_plans(several, several) == SAME
    assert not compare_plans(several, one).equal


def test_no_plan_differs_from_what_is_written_of_it() -> None:
    """Whatever a plan holds, writing it and turning its keys around changes nothing that it means."""
    differing = 0
    for seed in range(300):
        random = Random(seed)  # noqa: S311 - no secret
        data = {**random_documents(random)["plan"], "feature_exchange": random_workload(random)}
        turned = {name: data[name] for name in reversed(data)}
        turned["param_plan"] = dict(reversed(data["param_plan"].items()))
        written = load_plan(parse_document(dump_yaml(turned).encode(), "q"))
        assert compare_plans(Plan(data, Place("p")), written) == SAME, data
        other = {**data, "feature_exchange": random_workload(random)}
        differing += not compare_plans(Plan(data, Place("p")), Plan(other, Place("q"))).equal
    assert differing > 250


ITEMS: list[dict[str, Any]] = [
    {"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2},
    {"item_id": 1, "batch_index": 0, "decoder_token_start": 4, "output_rows": 3},
]


def table(mesh: str = "dp=2,tp=2,sp", granularity: Granularity = "record", **fields: Any) -> RoutingTable:  # noqa: ANN401 - workload data
    """Return the routes of two items in a sequence of eight tokens."""
    workload = {"sequence": {"length": 8}, "items": ITEMS, "buckets": [[0], [1]], **fields}
    return plan_routes(parse_mesh(mesh), load_workload(workload, Place("w")), granularity)


def test_routing_tables() -> None:
    """Tables differ in who sends what where; traffic and digest only follow from that."""
    assert compare_routes(table(), table()) == SAME
    found = compare_routes(table(), table(buckets=[[1], [0]]))
    # tp rank 0 owns tokens 0 to 3, which item 0 has; the second parent has ranks 2 and 3.
    assert found.changed == (
        ChangedNames(("parents.0.items.0",), 1, (FieldChange("producer", 0, 1),)),
        ChangedNames(("parents.0.items.1",), 1, (FieldChange("producer", 1, 0),)),
        ChangedNames(("parents.1.items.0",), 1, (FieldChange("producer", 2, 3),)),
        ChangedNames(("parents.1.items.1",), 1, (FieldChange("producer", 3, 2),)),
    )
    assert [change.field for change in found.fields] == ["workload.buckets"]


def test_routing_tables_of_two_meshes() -> None:
    """A parent more is a parent's worth of items more."""
    found = compare_routes(table(), table("dp=3,tp=2,sp", feature_width=4))
    assert found.added == ("parents.2.items.{0,1}",)
    assert found.fields == (
        FieldChange("mesh.axes.dp", 2, 3),
        FieldChange("workload.feature_width", 1, 4),
    )


DIFFERENT = (
    ("dp=2,tp=2", {}, "record"),
    ("tp=2,dp=2,sp", {}, "record"),
    ("dp=2,tp=2,sp", {}, "row"),
    *(
        ("dp=2,tp=2,sp", fields, "record")
        for fields in (
            {"feature_width": 4},
            {"dtype": "float32"},
            {"sequence": {"length": 16}},
            {"sequence": {"length": 8, "cp_layout": "zigzag"}},
            {"buckets": [[0, 1], []]},
            {"buckets": [[1, 0], []]},
            {"destinations": {"0": [0, 1]}},
            *(
                {"items": [{**ITEMS[0], **change}, ITEMS[1]]}
                for change in (
                    {"batch_index": 1},
                    {"decoder_token_start": 1},
                    {"output_rows": 1},
                    {"item_id": 2},
                    {"spans": [{"token_start": 0, "rows": 1}, {"token_start": 2, "rows": 1}]},
                )
            ),
        )
    ),
)
"""Meshes, fields of the workload and granularities, no two of which run the same."""


def test_tables_that_run_differently_differ() -> None:
    """Ranks refuse each other's table by its digest, and the comparison of the two says: no differences."""
    tables = [table()]
    for mesh, fields, granularity in DIFFERENT:
        free = {} if "item_id" not in str(fields) else {"buckets": [[fields["items"][0]["item_id"]], [1]]}
        tables.append(table(mesh, granularity, **free, **fields))
    for number, one in enumerate(tables):
        for other in tables[:number]:
            assert one.digest != other.digest
            assert not compare_routes(one, other).equal


def test_where_rows_land() -> None:
    """Two tables that send the same rows to other tokens, or to other documents, pass for one."""
    before, after = (
        [{"item_id": 0, "batch_index": 0, "decoder_token_start": token, "output_rows": 4}]
        for token in (15, 2)
    )
    alone = {"buckets": [[0]], "sequence": {"length": 24}}
    found = compare_routes(table("tp=1", items=before, **alone), table("tp=1", items=after, **alone))
    assert found.changed == (
        ChangedNames(("parents.0.items.0",), 1, (FieldChange("tokens", "[15:19]", "[2:6]"),)),
    )
    assert found.fields == ()

    def packed(documents: list[int]) -> RoutingTable:
        own = {"documents": documents, "items": ITEMS, "buckets": [[0], [1]]}
        replicas = [own, {"items": [], "buckets": [[], []]}]
        data = {"sequence": {"length": 16, "cp_layout": "zigzag"}, "replicas": replicas}
        return plan_routes(parse_mesh("dp=2,cp=2"), load_workload(data))

    found = compare_routes(packed([8, 8]), packed([12, 4]))
    assert FieldChange("parents.0.documents", [8, 8], [12, 4]) in found.fields


def test_a_mesh_in_two_spellings() -> None:
    """Axes of size 1, which no rank notices, are called a difference."""
    assert compare_routes(table(), table("pp=1,dp=2,cp=1,tp=2,sp")) == SAME
    plain = {"buckets": [[0, 1]]}
    assert compare_routes(table("dp=2", **plain), table("dp=2,sp", **plain)) == SAME
