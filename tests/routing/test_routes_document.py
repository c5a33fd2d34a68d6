"""Routing tables as documents: they read back, and a changed one does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hpplan.diagnostics import Path as KeyPath
from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.routing import routes_writer
from hpplan.routing.mesh import Mesh, parse_mesh
from hpplan.routing.routes import RoutingTable, plan_rank_exchange, plan_routes
from hpplan.routing.routes_document import load_routes, routes_from_data
from hpplan.routing.routes_shape import KEY_ORDER
from hpplan.routing.routes_writer import routes_to_data
from hpplan.routing.traffic import Link
from hpplan.routing.transfers import GRANULARITIES
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "routing.yaml").read_text(encoding="utf-8")
)

DATA: dict[str, Any] = {
    "feature_width": 8,
    "sequence": {"length": 32, "cp_layout": "zigzag"},
    "items": [
        {"item_id": 4, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
        {"item_id": 1, "batch_index": 1, "output_rows": 8, "spans": [{"token_start": 0, "rows": 4},
                                                                     {"token_start": 20, "rows": 4}]},
    ],
}  # fmt: skip


def table(mesh: str = "tp=2,dp=2,cp=2,sp", **changes: Any) -> RoutingTable:  # noqa: ANN401 - workload fields
    """Plan the example workload."""
    return plan_routes(parse_mesh(mesh), load_workload({**DATA, **changes}, Place("w")))


def same(one: RoutingTable, other: RoutingTable) -> bool:
    """Whether every rank does the same."""
    ranks = range(one.mesh.world_size)
    return one.digest == other.digest and all(one.rank_route(r) == other.rank_route(r) for r in ranks)


@pytest.mark.parametrize("write", [dump_json, lambda data: dump_yaml(data, KEY_ORDER)], ids=["json", "yaml"])
@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_tables_read_back(case: dict[str, Any], write: Callable[[Any], str]) -> None:
    """A table that was written is refused, or other ranks run it than those it was planned for."""
    mesh = Mesh({"cp": case["mesh"]["cp"], "tp": case["mesh"]["tp"]}, case["mesh"]["sp"])
    before = plan_routes(mesh, load_workload(case["workload"], Place("w")), "row")
    text = write(routes_to_data(before))
    after = load_routes(parse_document(text.encode(), "routes"))
    assert same(before, after)
    assert write(routes_to_data(after)) == text


def test_axis_order_and_replicas_read_back() -> None:
    """Sorted keys turn the mesh around, or replicas are mixed up."""
    before = table()
    assert same(before, load_routes(parse_document(dump_json(routes_to_data(before)).encode(), "routes")))
    two = {"sequence": DATA["sequence"], "replicas": [{"items": DATA["items"]}, {"items": []}]}
    own = plan_routes(parse_mesh("dp=2,cp=2"), load_workload(two, Place("w")))
    after = load_routes(parse_document(dump_json(routes_to_data(own)).encode(), "routes"))
    assert same(own, after)
    assert after.parents[1].routes.item_ids == ((), ())


def test_document_is_that_of_the_design() -> None:
    """Another program that reads tables does not find what DESIGN promises."""
    data = routes_to_data(table("cp=2,tp=2,sp"))
    assert list(data) == [
        "hpplan_routes", "digest", "mesh", "mode", "granularity", "workload", "parents", "traffic",
    ]  # fmt: skip
    (parent,) = data["parents"]
    assert parent["ranks"] == [0, 1, 2, 3]
    assert parent["destinations"] == {"4": [0, 2], "1": [0, 3]}
    assert parent["transfers"] == [[0, 0, 4, 0, 10], [0, 2, 4, 0, 10], [1, 0, 1, 0, 8], [1, 3, 1, 0, 8]]
    assert data["traffic"]["rows"] == 36
    assert data["traffic"]["row_bytes"] == 16


CHANGES: list[tuple[str, Callable[[Any], object], list[tuple[str, KeyPath]]]] = [
    ("a row fewer", lambda data: data["parents"][0]["transfers"][0].__setitem__(4, 9),
     [("routes-differ", ("parents", 0, "transfers", 0))]),
    ("a transfer fewer", lambda data: data["parents"][1]["transfers"].pop(),
     [("routes-differ", ("parents", 1, "transfers", 3))]),
    ("another rank", lambda data: data["parents"][0]["ranks"].reverse(),
     [("routes-differ", ("parents", 0, "ranks", 0))]),
    ("another destination", lambda data: data["parents"][0]["destinations"]["4"].append(3),
     [("routes-differ", ("parents", 0, "destinations", "4"))]),
    ("another matrix", lambda data: data["parents"][0]["matrix"][0].__setitem__(0, 11),
     [("routes-differ", ("parents", 0, "matrix", 0))]),
    ("another mode", lambda data: data.__setitem__("mode", "local"), [("routes-differ", ("mode",))]),
    ("a parent fewer", lambda data: data["parents"].pop(), [("routes-differ", ("parents",))]),
    ("another digest", lambda data: data.__setitem__("digest", "sha256:" + "0" * 64),
     [("digest-mismatch", ("digest",))]),
    ("another width", lambda data: data["workload"].__setitem__("feature_width", 16),
     [("digest-mismatch", ("digest",))]),
    ("another granularity", lambda data: data.__setitem__("granularity", "row"),
     [("routes-differ", ("parents", number, field, *first)) for number in (0, 1)
      for field, first in (("transfers", (0,)), ("matrix", (0,)))] + [("digest-mismatch", ("digest",))]),
    ("a later version", lambda data: data.__setitem__("hpplan_routes", 2),
     [("malformed-routes", ("hpplan_routes",))]),
    ("a truth for a version", lambda data: data.update(hpplan_routes=True),
     [("malformed-routes", ("hpplan_routes",))]),
    ("other sums", lambda data: data["traffic"].update(rows_leaving=-5, row_bytes="16", rows=True),
     [("routes-differ", ("traffic", name)) for name in ("rows_leaving", "row_bytes", "rows")]),
    ("sums of a rank fewer", lambda data: data["traffic"]["ranks"].pop(),
     [("routes-differ", ("traffic", "ranks"))]),
    ("other sums of a rank", lambda data: data["traffic"]["ranks"][3].update(items=7),
     [("routes-differ", ("traffic", "ranks", 3, "items"))]),
    ("sums of another kind", lambda data: data["traffic"].update(producer_load=[], ranks={}),
     [("routes-differ", ("traffic", "producer_load")), ("routes-differ", ("traffic", "ranks"))]),
    ("another time", lambda data: data["traffic"].update(
        estimate={"bandwidth_gb_per_s": 1, "latency_us": 0, "seconds": 1}),
     [("routes-differ", ("traffic", "estimate", "seconds"))]),
    ("no time", lambda data: data["traffic"].update(estimate={"bandwidth_gb_per_s": 0, "latency_us": 0}),
     [("routes-differ", ("traffic", "estimate"))]),
    ("no parents", lambda data: data.pop("parents"), [("malformed-routes", ())]),
    ("a transfer is a text", lambda data: data["parents"][0]["transfers"].__setitem__(0, "0 0 0 0 9"),
     [("malformed-routes", ("parents", 0, "transfers", 0))]),
    ("an unknown axis", lambda data: data["mesh"].update(axes={"xp": 2}, order=["xp"]),
     [("unknown-axis", ("mesh", "axes", "xp"))]),
    ("an item that is none", lambda data: data["parents"][0]["buckets"][0].append(9),
     [("unknown-item", ("parents", 0, "buckets", 0, 1))]),
    ("a bucket fewer", lambda data: data["parents"][0]["buckets"].pop(),
     [("bucket-count-mismatch", ("parents", 0, "buckets"))]),
    ("an item overlaps", lambda data: data["workload"]["items"][0].update(batch_index=1, output_rows=16),
     [("overlapping-spans", ("workload", "items", 1, "spans", 1))]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), [case[1:] for case in CHANGES], ids=[c[0] for c in CHANGES])
def test_changed_tables_are_refused(
    change: Callable[[Any], object], expected: list[tuple[str, KeyPath]]
) -> None:
    """A table that was changed by hand runs, and ranks wait for rows that nobody sends."""
    data = json.loads(json.dumps(routes_to_data(table())))
    change(data)
    with pytest.raises(InvalidInput) as raised:
        routes_from_data(data, Place("t"))
    assert sorted((one.code.name, one.place.path) for one in raised.value.diagnostics) == sorted(expected)


def test_replicas_that_are_not_those_of_the_mesh() -> None:
    """A table whose mesh, parents and replicas have three numbers ends in a traceback."""
    data = {"sequence": {"length": 32}, "replicas": [{"items": []}, {"items": []}]}
    written = json.loads(
        json.dumps(routes_to_data(plan_routes(parse_mesh("dp=2,cp=2"), load_workload(data))))
    )
    written["workload"]["replicas"].pop()
    written["parents"].append(written["parents"][0])
    with pytest.raises(InvalidInput) as raised:
        routes_from_data(written, Place("t"))
    assert [(one.code.name, one.place.path) for one in raised.value.diagnostics] == [
        ("routes-differ", ("parents",)),
        ("replica-count-mismatch", ("workload", "replicas")),
    ]


def test_a_workload_with_other_buckets_than_the_parents() -> None:
    """The buckets that people read are not those that run, and nothing says so."""
    data = json.loads(json.dumps(routes_to_data(table(buckets=[[4], [1], [], []]))))
    data["workload"]["buckets"] = [[4], [], [1], []]
    with pytest.raises(InvalidInput) as raised:
        routes_from_data(data, Place("t"))
    (found,) = raised.value.diagnostics
    assert (found.code.name, found.place.path) == ("routes-differ", ("workload", "buckets", 1))
    assert found.message == "the parents have [1] here, not []"


def test_buckets_of_replicas_are_found_in_their_parent() -> None:
    """What is wrong with one replica's buckets is shown in another's, or in the workload that has none."""
    replica = {"items": [{"item_id": 4, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10}]}
    data = {"sequence": {"length": 32}, "replicas": [replica, replica]}
    written = routes_to_data(plan_routes(parse_mesh("dp=2,cp=2"), load_workload(data, Place("w"))))
    written = json.loads(json.dumps(written))
    written["parents"][1]["buckets"][1].append(4)
    with pytest.raises(InvalidInput) as raised:
        routes_from_data(written, Place("t"))
    (found,) = raised.value.diagnostics
    places = [found.place.path, *(place.path for place in found.related)]
    assert places == [("parents", 1, "buckets", 1, 0), ("parents", 1, "buckets", 0, 0)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(digest="x"), "`digest` must be sha256: and 64 hexadecimal digits, not the"),
        (
            lambda data: data.update(granularity="x"),
            "`granularity` must be 'record', 'row' or 'once', not the str",
        ),
        (lambda data: data["mesh"].update(sp=1), "`sp` must be true or false, not the number 1"),
        (lambda data: data["parents"][0]["ranks"].append(True), "the list element must be a whole number, "),
        (lambda data: data["parents"][0]["ranks"].append(-1), "the list element must be at least 0, not -1"),
        (lambda data: data.update(traffic=[]), "`traffic` must be a mapping, not a list"),
    ],
)
def test_malformed_fields_say_what_belongs_there(change: Callable[[Any], object], says: str) -> None:
    """People read the words of a library, and not those that every other document gets."""
    data = json.loads(json.dumps(routes_to_data(table())))
    change(data)
    with pytest.raises(InvalidInput) as raised:
        routes_from_data(data, Place("t"))
    assert raised.value.diagnostics[0].message.startswith(says)


def test_unknown_fields_are_warnings() -> None:
    """A misspelt field of a table is not noticed."""
    data = json.loads(json.dumps(routes_to_data(table(), Link(3.0, 1.0))))
    assert routes_from_data(data, Place("t")).warnings == ()
    data["digets"] = data["mesh"]["sq"] = data["parents"][1]["rank"] = data["traffic"]["row"] = 1
    found = sorted(routes_from_data(data, Place("t")).warnings, key=lambda one: one.place.path)
    assert [(one.code.name, one.level, one.place.path) for one in found] == [
        ("unknown-routes-field", "warning", path)
        for path in (("digets",), ("mesh", "sq"), ("parents", 1, "rank"), ("traffic", "row"))
    ]
    assert found[0].hint == "did you mean `digest`?"


def test_digest_covers_what_matters_and_nothing_else() -> None:
    """Ranks run different routes under one digest, or refuse the same routes under two."""
    digest = table().digest
    assert table(items=list(reversed(DATA["items"]))).digest == digest
    assert table(name="a batch").digest == digest
    assert table("pp=1,tp=2,dp=2,cp=2,ep=2,sp").digest == digest
    different = [
        table("dp=2,tp=2,cp=2,sp"),
        table("tp=2,dp=2,cp=2"),
        table(feature_width=4),
        table(payloads=2),
        table(dtype="float32"),
        table(sequence={"length": 64, "cp_layout": "zigzag"}),
        table(sequence={"length": 32, "cp_layout": "contiguous"}),
        table(buckets=[[], [4, 1], [], []]),
        table(buckets=[[], [1, 4], [], []]),
        table(destinations={4: [0]}),
        plan_routes(parse_mesh("tp=2,dp=2,cp=2,sp"), load_workload(DATA, Place("w")), "row"),
    ]
    assert len({digest, *(one.digest for one in different)}) == len(different) + 1


def test_digest_of_an_exchange_is_that_of_its_routes() -> None:
    """A rank that plans its own micro-batch is refused by one that has the same routes from a table."""
    mesh = parse_mesh("tp=2,dp=2,cp=2,sp")
    sequence, items = DATA["sequence"], DATA["items"]
    of_table = table().rank_exchange(3)
    assert of_table is not None
    bare = load_workload({"sequence": sequence, "items": items})
    planned = plan_rank_exchange(mesh, bare, 3)
    assert planned is not None
    assert planned[:2] == of_table[:2]  # of two payloads or wide rows, the routes are the same
    assert plan_routes(mesh, bare).digest == of_table[1]
    packed = {"items": items, "documents": [8, 24]}
    own = load_workload({"sequence": sequence, "replicas": [packed, {"items": items}]})
    apart = plan_routes(mesh, own)
    digests = {rank: found[1] for rank in range(8) if (found := apart.rank_exchange(rank)) is not None}
    first = load_workload({"sequence": {**sequence, "documents": [8, 24]}, "items": items})
    assert digests[0] == digests[1] == plan_routes(mesh, first).digest
    assert digests[2] == digests[3] == of_table[1]
    alike = load_workload({"sequence": sequence, "replicas": [{"items": items}] * 2})
    assert plan_routes(mesh, alike).digest == plan_routes(mesh, bare).digest
    assert len({apart.digest, *digests.values()}) == 3


def test_granularity_counts_where_it_is_heeded() -> None:
    """An all-gather sends whole records whatever is asked for, and its ranks refuse each other."""
    by_mesh = {
        mesh: {plan_routes(parse_mesh(mesh), load_workload(DATA), kind).digest for kind in GRANULARITIES}
        for mesh in ("tp=2", "tp=1", "tp=2,sp", "cp=2")
    }
    assert [len(digests) for digests in by_mesh.values()] == [1, 1, 2, 2]


def test_tables_that_nobody_could_read_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with billions of transfers fills the memory."""
    monkeypatch.setattr(routes_writer, "MOST_TRANSFERS", 3)
    with pytest.raises(UnusableRequest, match="8 transfers"):
        routes_to_data(table())


def test_matrix_of_a_large_parent_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A square of all ranks is written for a large parent."""
    monkeypatch.setattr(routes_writer, "LARGEST_MATRIX", 3)
    data = routes_to_data(table())
    assert "matrix" not in data["parents"][0]
    assert same(table(), routes_from_data(json.loads(json.dumps(data)), Place("t")))
