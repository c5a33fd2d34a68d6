"""Each row once, simulated one row at a time: both steps of every rank, against who holds which token."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_pools import Setting, holders, tokens_of

from hpplan.diagnostics import Place
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.once import OnceRoutes
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.routing.routes_document import routes_from_data
from hpplan.routing.routes_writer import routes_to_data
from hpplan.routing.traffic import Traffic
from hpplan.workload.workload import load_workload

Row = tuple[int, int]
"""Item and row."""


def _simulate(table: RoutingTable) -> list[tuple[list[Row], dict[int, Row], int]]:
    """Run both steps of each rank of the one parent: what it holds then, by position, and rows it sent."""
    routes = [table.rank_route(rank) for rank in table.parents[0].ranks]
    mail: dict[tuple[int, int], list[Row]] = {}
    sent = [0] * len(routes)
    for at, route in enumerate(routes):
        assert route is not None
        for to, item, start, stop in route.sends:
            mail.setdefault((at, to), []).extend((item, row) for row in range(start, stop))
        splits = [len(mail.get((at, to), [])) for to in range(len(routes))]
        assert splits == list(route.input_splits)
        sent[at] += sum(splits) - splits[at]
    held: list[list[Row]] = []
    for at, route in enumerate(routes):
        assert route is not None
        wire = [row for source in range(len(routes)) for row in mail.get((source, at), [])]
        held.append([row for _, row in sorted(zip(route.positions, wire, strict=True))])
        assert sorted(route.positions) == list(range(len(wire)))
        assert [len(mail.get((source, at), [])) for source in range(len(routes))] == list(route.output_splits)
        assert wire == [(item, row) for _, item, low, high in route.receives for row in range(low, high)]
    passed: dict[tuple[int, int], list[Row]] = {}
    for at, route in enumerate(routes):
        assert route is not None
        gather = route.gather
        assert gather is not None
        starts, filled = {}, 0
        for number, rows in gather.bucket:
            starts[number] = filled
            filled += rows
        assert filled == len(held[at])
        for to, number, start, stop in gather.sends:
            low = starts[number]
            passed.setdefault((at, to), []).extend(held[at][low + start : low + stop])
        splits = [len(passed.get((at, to), [])) for to in range(len(routes))]
        assert splits == list(gather.input_splits)
        sent[at] += sum(splits) - splits[at]
    found = []
    for at, route in enumerate(routes):
        assert route is not None
        gather = route.gather
        assert gather is not None
        got = [row for source in range(len(routes)) for row in passed.get((source, at), [])]
        positions = {where: row for row, where in zip(got, gather.positions, strict=True) if where >= 0}
        assert len(positions) == len([where for where in gather.positions if where >= 0])
        handed = [
            (item, row, at + place)
            for item, low, high, at in gather.hand_over
            for place, row in enumerate(range(low, high))
        ]
        assert [(item, row) == got[place] for item, row, place in handed] == [True] * len(got)
        found.append((got, positions, sent[at]))
        assert (route.rows_sent, route.rows_received) == (sent[at], len(got) - len(mail.get((at, at), [])))
    return found


@st.composite
def workloads(draw: st.DrawFn) -> tuple[str, Setting, dict[str, Any]]:
    """Draw a mesh without sp, and items on it."""
    cp, tp = draw(st.sampled_from([(2, 2), (2, 3), (3, 2), (4, 2)]))
    layout = draw(st.sampled_from(["contiguous", "zigzag"]))
    length = 2 * cp * 12
    items: list[dict[str, Any]] = []
    for batch in range(draw(st.integers(1, 2))):
        token = 0
        for _ in range(draw(st.integers(0, 3))):
            token += draw(st.integers(0, 5))
            rows = draw(st.integers(1, 17))
            if token + rows > length:
                break
            item = {"item_id": len(items), "batch_index": batch, "decoder_token_start": token}
            items.append({**item, "output_rows": rows})
            token += rows
    encoder = draw(st.sampled_from([1, tp]))
    data: dict[str, Any] = {
        "sequence": {"length": length, "cp_layout": layout},
        "items": items,
        "encoder_cp_size": encoder,
        "encoder_output": draw(st.sampled_from(["leader", "sharded"])),
        "feature_width": 3,
        "dtype": "float32",
    }
    return f"cp={cp},tp={tp}", Setting(1, cp, tp, sp=False, length=length, cp_layout=layout), data


@given(workloads())
def test_each_rank_gets_the_rows_of_its_tokens(drawn: tuple[str, Setting, dict[str, Any]]) -> None:
    """A row that is sent twice, or reaches one TP rank and not the other, trains wrong without a word."""
    mesh, setting, data = drawn
    table = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")), "once")
    due: list[set[Row]] = [set() for _ in range(setting.replica_size)]
    for item in data["items"]:
        for row, token in enumerate(tokens_of(item)):
            for rank in holders(setting, [], 0, token):
                due[rank].add((item["item_id"], row))
    for rank, (got, positions, _) in enumerate(_simulate(table)):
        assert sorted(got) == sorted(due[rank])
        assert sorted(positions.values()) == sorted(due[rank])
        route = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")), "row").rank_route(rank)
        assert route is not None
        rows = [(item, row) for _, item, low, high in route.receives for row in range(low, high)]
        assert positions == {
            where: row for row, where in zip(rows, route.positions, strict=True) if where >= 0
        }


@given(workloads())
def test_sums_are_those_of_both_steps(drawn: tuple[str, Setting, dict[str, Any]]) -> None:
    """A preview that counts what nobody sends, or leaves out a step, is advice for another exchange."""
    mesh, setting, data = drawn
    table = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")), "once")
    traffic = Traffic(table)
    sent = [one for _, _, one in _simulate(table)]
    assert [one.sent for one in traffic.per_rank()] == sent
    assert traffic.bytes_leaving == sum(sent) * 3 * 4
    # Its holder shows a row to the other TP ranks, and it comes from another CP coordinate at most once.
    rows = sum(item["output_rows"] for item in data["items"])
    assert rows * (setting.tp - 1) <= sum(sent) <= rows * setting.tp
    written = json.loads(json.dumps(routes_to_data(table)))
    again = routes_from_data(written)
    assert json.loads(json.dumps(routes_to_data(again))) == written
    assert again.digest == table.digest


@pytest.mark.parametrize("mesh", ["cp=2,tp=2,sp", "cp=4", "tp=4", "tp=4,sp"])
def test_without_copies_it_is_row(mesh: str) -> None:
    """Where each token has one owner there is nobody to pass a row on to."""
    item = {"item_id": 0, "batch_index": 0, "decoder_token_start": 3, "output_rows": 9}
    workload = load_workload({"sequence": {"length": 32}, "items": [item]})
    once, row = (plan_routes(parse_mesh(mesh), workload, kind) for kind in ("once", "row"))  # type: ignore[arg-type]
    assert not isinstance(once.parents[0].routes, OnceRoutes)
    assert once.digest == row.digest
    assert [once.rank_route(rank) for rank in range(4)] == [row.rank_route(rank) for rank in range(4)]


def test_one_image_for_a_far_coordinate() -> None:
    """Rank 0 of cp=2,tp=4 has 10 rows for tokens of ranks 4 to 7: each passes on its two or three."""
    item = {"item_id": 0, "batch_index": 0, "decoder_token_start": 20, "output_rows": 10}
    data = {"sequence": {"length": 32}, "items": [item], "buckets": [[0], *[[]] * 7]}
    routes = plan_routes(parse_mesh("cp=2,tp=4"), load_workload(data), "once").parents[0].routes
    assert isinstance(routes, OnceRoutes)
    assert [tuple(one) for one in routes.transfers()] == [
        (0, 4, 0, 0, 2),
        (0, 5, 0, 2, 5),
        (0, 6, 0, 5, 7),
        (0, 7, 0, 7, 10),
    ]
    assert [tuple(one) for one in routes.gathers()][:3] == [(4, 5, 0, 0, 2), (4, 6, 0, 0, 2), (4, 7, 0, 0, 2)]
    assert sum(stop - start for *_, start, stop in routes.gathers()) == 30
