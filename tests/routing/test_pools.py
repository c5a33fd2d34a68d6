"""Pools of replicas that share the encoder work, against a model that places one token at a time."""

from __future__ import annotations

import json
import math
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_pools import Setting, holders, sent_rows, tokens_of

from hpplan.errors import InvalidInput
from hpplan.routing.mesh import Mesh, parse_mesh
from hpplan.routing.routes import RoutingTable, plan_rank_exchange, plan_routes
from hpplan.routing.routes_document import routes_from_data
from hpplan.routing.routes_writer import routes_to_data
from hpplan.routing.traffic import Traffic
from hpplan.workload.workload import load_workload

ORDERS = list(permutations(("pp", "dp", "cp", "tp")))


@st.composite
def pooled(draw: st.DrawFn) -> tuple[Mesh, dict[str, Any]]:
    """Draw a mesh and a workload whose replicas have items of their own, some none at all."""
    pool = draw(st.sampled_from((1, 2, 4)))
    dp = pool * draw(st.integers(1, 4 // pool))
    cp, tp, sp = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.booleans())
    sizes = {"pp": draw(st.integers(1, 2)), "dp": dp, "cp": cp, "tp": tp}
    mesh = Mesh({axis: sizes[axis] for axis in draw(st.sampled_from(ORDERS))}, sp)
    layout = draw(st.sampled_from(("contiguous", "zigzag")))
    own = cp if layout == "contiguous" else 2 * cp
    length = (math.lcm(own, cp * tp) if sp else own) * draw(st.integers(1, 3))
    ids = iter(draw(st.permutations(range(4 * dp))))
    replicas = [_replica(draw, length, own, ids) for _ in range(dp)]
    width = draw(st.sampled_from([n for n in range(1, pool * cp * tp + 1) if pool * cp * tp % n == 0]))
    workload: dict[str, Any] = {
        "sequence": {"length": length, "cp_layout": layout},
        "encoder_pool": draw(st.sampled_from((pool, "all"))) if pool == dp else pool,
        "encoder_cp_size": width,
        "encoder_output": draw(st.sampled_from(("leader", "sharded"))),
        "replicas": replicas,
    }
    return mesh, workload


def _replica(draw: st.DrawFn, length: int, own: int, ids: Any) -> dict[str, Any]:  # noqa: ANN401 - an iterator
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
    spans = [(start, stop - start) for start, stop in zip(cuts[::2], cuts[1::2], strict=False)]
    items: list[dict[str, Any]] = []
    if len(spans) == 3:
        several = [{"token_start": start, "rows": rows} for start, rows in spans[:2]]
        rows = sum(one["rows"] for one in several)
        items.append({"item_id": next(ids), "batch_index": 0, "output_rows": rows, "spans": several})
        spans = spans[2:]
    items += [
        {"item_id": next(ids), "batch_index": 0, "decoder_token_start": start, "output_rows": rows}
        for start, rows in spans
    ]
    replica: dict[str, Any] = {"items": items}
    if draw(st.booleans()):
        first = own * draw(st.integers(0, length // own))
        replica["documents"] = [first, length - first]
    return replica


def _table(mesh: Mesh, data: dict[str, Any], granularity: Any, assign: str) -> RoutingTable:  # noqa: ANN401 - a literal
    return plan_routes(mesh, load_workload(data), granularity, assign)


@given(
    pooled(),
    st.sampled_from(("record", "row")),
    st.sampled_from(("lpt", "local", "round-robin", "contiguous")),
)
@settings(max_examples=150, deadline=None)
def test_every_row_goes_where_its_token_is(
    drawn: tuple[Mesh, dict[str, Any]], granularity: str, assign: str
) -> None:
    """Rows of a replica land on another's ranks, or not on all that hold their tokens."""
    mesh, data = drawn
    table = _table(mesh, data, granularity, assign)
    pool = mesh.dp if data["encoder_pool"] == "all" else data["encoder_pool"]
    sequence = data["sequence"]
    setting = Setting(pool, mesh.cp, mesh.tp, mesh.sp, sequence["length"], sequence["cp_layout"])
    assert len(table.parents) == mesh.dp // pool
    whole = granularity == "record" or table.mode.collective == "all_gather"
    for number, (ranks, routes) in enumerate(table.parents):
        replicas = data["replicas"][number * pool : (number + 1) * pool]
        buckets = [list(bucket) for bucket in routes.item_ids]
        assert len(buckets) * data["encoder_cp_size"] == pool * mesh.cp * mesh.tp == len(ranks)
        sharded = data["encoder_output"] == "sharded"
        expected = sent_rows(
            setting, replicas, buckets, data["encoder_cp_size"], whole=whole, sharded=sharded
        )
        if table.mode.collective == "all_gather":
            expected = {(*sent[:1], rank, *sent[2:]) for sent in expected for rank in range(len(ranks))}
        rows = [
            (source, destination, item, row)
            for source, destination, item, start, stop in routes.transfers()
            for row in range(start, stop)
        ]
        assert len(set(rows)) == len(rows)
        assert set(rows) == expected
        for at, rank in enumerate(ranks):
            place = mesh.coordinates(rank)
            replica, inside = divmod(at, mesh.cp * mesh.tp)
            assert (place["pp"], place["dp"]) == (0, number * pool + replica)
            assert (place["cp"], place["tp"]) == divmod(inside, mesh.tp)
    traffic = Traffic(table)
    arrived = sum(one.received for one in traffic.per_rank())
    assert traffic.rows == arrived + traffic.rows_kept
    # A broadcast sends a row once, to all others.
    assert traffic.rows_leaving == (traffic.rows_kept if table.mode.reaches_all else arrived)


@given(pooled(), st.sampled_from(("record", "row")))
@settings(max_examples=60, deadline=None)
def test_a_rank_alone_plans_what_the_table_says(drawn: tuple[Mesh, dict[str, Any]], granularity: Any) -> None:  # noqa: ANN401 - a literal
    """A rank and the table differ, in the route or in the digest, or positions are not those of tokens."""
    mesh, data = drawn
    workload = load_workload(data)
    table = plan_routes(mesh, workload, granularity)
    sequence = data["sequence"]
    setting = Setting(table.mesh.pool, mesh.cp, mesh.tp, mesh.sp, sequence["length"], sequence["cp_layout"])
    for rank in range(mesh.world_size):
        planned = plan_rank_exchange(mesh, workload, rank, granularity)
        of_table = table.rank_exchange(rank)
        if planned is None or of_table is None:
            assert planned is of_table
            continue
        assert planned[:2] == of_table[:2]
        route = planned.route
        replica = mesh.coordinates(rank)["dp"]
        documents = data["replicas"][replica].get("documents", [])
        inside = replica % table.mesh.pool
        mine = [
            token
            for token in range(sequence["length"])
            if route.group_rank in holders(setting, documents, inside, token)
        ]
        tokens = {item["item_id"]: item for item in data["replicas"][replica]["items"]}
        seen = 0
        for item, start, stop, offset in route.hand_over:
            token_of = tokens_of(tokens[item])
            for row in range(start, stop):
                position = route.positions[offset + row - start]
                token = token_of[row]
                assert (token in mine) == (position >= 0)
                if position >= 0:
                    assert route.local_length == len(mine)
                    seen += 1
        assert seen == sum(token in mine for item in tokens.values() for token in tokens_of(item))


@given(pooled())
@settings(max_examples=40, deadline=None)
def test_a_table_reads_back(drawn: tuple[Mesh, dict[str, Any]]) -> None:
    """A table of pools is refused by whoever reads it, or gives other routes."""
    mesh, data = drawn
    table = plan_routes(mesh, load_workload(data))
    written = json.loads(json.dumps(routes_to_data(table)))
    again = routes_from_data(written)
    assert again.digest == table.digest
    assert json.loads(json.dumps(routes_to_data(again))) == written


@given(pooled())
@settings(max_examples=40, deadline=None)
def test_a_pool_of_one_is_no_pool(drawn: tuple[Mesh, dict[str, Any]]) -> None:
    """Tables that people have would get other bytes."""
    mesh, data = drawn
    plain = {name: value for name, value in data.items() if name != "encoder_pool"} | {"encoder_cp_size": 1}
    one = plan_routes(mesh, load_workload({**plain, "encoder_pool": 1}))
    assert routes_to_data(one) == routes_to_data(plan_routes(mesh, load_workload(plain)))


ITEM = {"batch_index": 0, "decoder_token_start": 0, "output_rows": 4}


def _workload(pool: object, *replicas: list[int], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    items = [{"items": [{**ITEM, "item_id": item} for item in ids]} for ids in replicas]
    return {"sequence": {"length": 8}, "encoder_pool": pool, "replicas": items, **more}


@pytest.mark.parametrize(
    ("data", "mesh", "code", "said"),
    [
        (_workload(3, [0], [1], [], []), "dp=4", "HP442", "pools of 3 replicas do not divide dp=4"),
        (_workload(2, [0], [0], [], []), "dp=4", "HP418", "there is another item 0 in this pool of replicas"),
        (_workload(0, [0]), "dp=1", "HP412", "a whole number from 1 on, or `all`"),
        (_workload("some", [0]), "dp=1", "HP412", "a whole number from 1 on, or `all`"),
        (_workload(1.5, [0]), "dp=1", "HP412", "a whole number from 1 on, or `all`"),
        (
            {"sequence": {"length": 8}, "encoder_pool": "all", "items": [{**ITEM, "item_id": 0}]},
            "dp=2",
            "HP418",
            "all 2 replicas of a pool would have these items",
        ),
        (
            _workload(2, [0], [1], encoder_cp_size=4),
            "dp=2",
            "HP423",
            "encoder_cp_size 4 does not divide 2 x cp x tp = 2",
        ),
    ],
)
def test_what_no_pool_can_be_is_refused(data: dict[str, Any], mesh: str, code: str, said: str) -> None:
    """Ranks would wait for each other, or rows of one item pass for those of another."""
    with pytest.raises(InvalidInput) as raised:
        plan_routes(parse_mesh(mesh), load_workload(data))
    found = [(one.code.id, one.message) for one in raised.value.diagnostics]
    assert [one for one, message in found if said in message] == [code], found


def test_buckets_of_a_pool() -> None:
    """They are those that its replicas list, one after the other, and may name items of any of them."""
    data = _workload(2, [0], [1], [2], [3])
    for replica, buckets in zip(data["replicas"], ([[1]], [[0]], [[], [3, 2]], []), strict=True):
        replica["buckets"] = buckets
    table = plan_routes(parse_mesh("dp=4"), load_workload(data))
    assert [routes.item_ids for _, routes in table.parents] == [((1,), (0,)), ((), (3, 2))]
    assert [ranks for ranks, _ in table.parents] == [(0, 1), (2, 3)]
    data["replicas"][3]["buckets"] = [[2]]
    with pytest.raises(InvalidInput) as raised:
        plan_routes(parse_mesh("dp=4"), load_workload(data))
    found = [(one.code.id, one.message) for one in raised.value.diagnostics]
    assert ("HP420", "item 2 is in two buckets") in found
    assert any(
        code == "HP422" and "3 buckets x encoder_cp_size 1 is 3, and 2 x cp x tp = 2" in message
        for code, message in found
    ), found


def test_replicas_that_share_have_no_idle_rank() -> None:
    """Four images in one replica of four: largest first, each rank encodes one."""
    data = _workload("all", [], [], [], [])
    data["replicas"][2]["items"] = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 0, "output_rows": 8 - at} for at in range(4)
    ]
    table = plan_routes(parse_mesh("dp=4"), load_workload(data))
    assert table.mode.name == "pool_variable_a2a"
    assert [routes.item_ids for _, routes in table.parents] == [((0,), (1,), (2,), (3,))]
    # Replica 2 alone has the tokens, so everything goes to rank 2.
    assert Traffic(table).largest_receiver[:2] == (2, 8 + 7 + 5)


@given(pooled(), st.data())
@settings(max_examples=100, deadline=None)
def test_inputs_reach_whoever_encodes(drawn: tuple[Mesh, dict[str, Any]], more: st.DataObject) -> None:
    """Ranks simulated one by one do not have the inputs of their buckets in order, or rows travel in vain."""
    mesh, data = drawn
    rows = {}
    for replica in data["replicas"]:
        for item in replica["items"]:
            rows[item["item_id"]] = item["input_rows"] = more.draw(st.integers(1, 9))
    table = plan_routes(mesh, load_workload(data))
    pool, size = table.mesh.pool, mesh.cp * mesh.tp
    for number, parent in enumerate(table.parents):
        read = [
            [item["item_id"] for item in replica["items"]]
            for replica in data["replicas"][number * pool : (number + 1) * pool]
        ]
        routes = [table.rank_inputs(rank) for rank in parent.ranks]
        if pool == 1 or not any(read):
            assert routes == [None] * len(parent.ranks)
            continue
        mail: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for at, route in enumerate(routes):
            assert route is not None
            assert [item for item, _ in route.bucket] == read[at // size]
            for destination, item, start, stop in route.sends:
                assert item in read[at // size]
                mail.setdefault((at, destination), []).extend((item, row) for row in range(start, stop))
            splits = [len(mail.get((at, to), [])) for to in range(len(parent.ranks))]
            assert splits == list(route.input_splits)
        for at, route in enumerate(routes):
            assert route is not None
            arrived = [one for source in range(len(parent.ranks)) for one in mail.get((source, at), [])]
            placed: list[Any] = [None] * route.local_length
            for offset, count, start in route.position_runs:
                placed[start : start + count] = arrived[offset : offset + count]
            bucket = parent.routes.item_ids[at // data["encoder_cp_size"]]
            assert placed == [(item, row) for item in bucket for row in range(rows[item])]
            assert route.rows_kept == sum(rows[item] for item in bucket if item in read[at // size])


def test_the_lightest_sender_sends() -> None:
    """Largest first: 9 from rank 0, 5 and 4 from rank 1, then 2 from rank 0, the lowest of equals."""
    data = _workload("all", [0, 1, 2, 3], [])
    for item, count in zip(data["replicas"][0]["items"], (4, 9, 2, 5), strict=True):
        item["input_rows"] = count
        item["batch_index"] = item["item_id"]
    data["replicas"][1]["buckets"] = [[], [], [0, 1, 2, 3], []]
    table = plan_routes(parse_mesh("dp=2,cp=2"), load_workload(data))
    inputs = table.parents[0].inputs
    assert inputs is not None
    assert [(one.source, one.item_id) for one in inputs.transfers()] == [(1, 0), (0, 1), (0, 2), (1, 3)]
    written = routes_to_data(table)
    assert written["parents"][0]["input_transfers"] == [
        [1, 2, 0, 0, 4],
        [0, 2, 1, 0, 9],
        [0, 2, 2, 0, 2],
        [1, 2, 3, 0, 5],
    ]
    assert written["traffic"]["inputs"]["rows_leaving"] == 20
    assert written["traffic"]["inputs"]["largest_sender"] == {"rank": 0, "rows": 11, "mean": 5.0}


def test_the_digest_covers_inputs() -> None:
    """Ranks whose inputs differ would exchange other bytes than their peers wait for."""
    data = _workload("all", [0], [1])
    for replica in data["replicas"]:
        replica["items"][0]["input_rows"] = 8
    digests = set()
    for change in ({}, {"input_width": 3}, {"input_dtype": "float32"}):
        digests.add(plan_routes(parse_mesh("dp=2"), load_workload({**data, **change})).digest)
    data["replicas"][1]["items"][0]["input_rows"] = 9
    digests.add(plan_routes(parse_mesh("dp=2"), load_workload(data)).digest)
    assert len(digests) == 4


def test_items_that_do_not_say_their_inputs_are_warned_of() -> None:
    """A preview would leave out most of what travels, without a word."""
    data = _workload("all", [0], [1])
    data["replicas"][1]["items"][0]["input_rows"] = 9
    table = plan_routes(parse_mesh("dp=2"), load_workload(data))
    assert [(one.code.id, one.place.path) for one in table.warnings] == [
        ("HP443", ("replicas", 0, "items", 0))
    ]
    assert table.parents[0].inputs is None
    assert "inputs" not in routes_to_data(table)["traffic"]
