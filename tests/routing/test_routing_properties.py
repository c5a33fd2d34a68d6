"""Routes of random meshes and workloads, against a model that routes one token at a time."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from naive_layouts import local_tokens
from naive_routes import Received, arrivals, global_ranks, padded_tokens, tokens_of

from hpplan.diagnostics import Place
from hpplan.routing.assignment import POLICIES
from hpplan.routing.mesh import Mesh
from hpplan.routing.routes import RoutingTable, plan_rank, plan_rank_exchange, plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.workload.layouts import LAYOUTS
from hpplan.workload.workload import Item, load_workload

if TYPE_CHECKING:
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.transfers import Granularity


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    """Draw a small mesh with its axes in any order."""
    order = draw(st.permutations(["pp", "dp", "cp", "tp"]))
    sizes = {
        "pp": st.integers(1, 2),
        "dp": st.integers(1, 2),
        "cp": st.integers(1, 3),
        "tp": st.integers(1, 3),
    }
    return Mesh({axis: draw(sizes[axis]) for axis in order}, draw(st.booleans()))


@st.composite
def sequences(draw: st.DrawFn, mesh: Mesh) -> dict[str, Any]:
    """Draw a sequence that fits a mesh, with documents or without."""
    layout = draw(st.sampled_from([layout.name for layout in LAYOUTS]))
    unit = 2 * mesh.cp if layout == "zigzag" else mesh.cp
    multiple = math.lcm(unit, mesh.cp * mesh.tp) if mesh.sp else unit
    length = multiple * draw(st.integers(1, 4))
    sequence: dict[str, Any] = {"length": length, "cp_layout": layout}
    if draw(st.booleans()):
        documents: list[int] = []
        while sum(documents) < length:
            documents.append(unit * draw(st.integers(0, (length - sum(documents)) // unit)))
        sequence["documents"] = documents
    return sequence


@st.composite
def batches(draw: st.DrawFn, length: int) -> list[dict[str, Any]]:
    """Draw items that do not overlap, some of them in several spans, in any order."""
    found: list[dict[str, Any]] = []
    ids = iter(draw(st.permutations(range(40))))
    for batch_index in range(draw(st.integers(1, 2))):
        token = draw(st.integers(0, 3))
        while token < length and len(found) < 6:
            spans: list[dict[str, int]] = []
            for _ in range(draw(st.integers(1, 3))):
                rows = draw(st.integers(1, max(1, length // 2)))
                rows = min(rows, length - token)
                if rows > 0:
                    spans.append({"token_start": token, "rows": rows})
                    token += rows + draw(st.integers(0, 3))
            item: dict[str, Any] = {
                "item_id": next(ids),
                "batch_index": batch_index,
                "output_rows": sum(span["rows"] for span in spans),
            }
            if len(spans) == 1 and draw(st.booleans()):
                item["decoder_token_start"] = spans[0]["token_start"]
            else:
                item["spans"] = spans
            found.append(item)
    return draw(st.permutations(found))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Mesh, dict[str, Any]]:
    """Draw a mesh and a workload that fits it."""
    mesh = draw(meshes())
    size = mesh.cp * mesh.tp
    encoder = draw(st.sampled_from([one for one in range(1, size + 1) if size % one == 0]))
    sequence = draw(sequences(mesh))
    items = draw(batches(sequence["length"]))
    workload: dict[str, Any] = {"encoder_cp_size": encoder, "sequence": sequence, "items": items}
    if draw(st.booleans()):
        buckets: list[list[int]] = [[] for _ in range(size // encoder)]
        for item in items:
            draw(st.sampled_from(buckets)).append(item["item_id"])
        workload["buckets"] = buckets
    gathers = mesh.cp == 1 and mesh.tp > 1 and not mesh.sp
    if draw(st.booleans()) and not gathers:
        workload["destinations"] = {
            str(item["item_id"]): draw(st.permutations(draw(st.sets(st.integers(0, size - 1)).map(sorted))))
            for item in items
            if draw(st.booleans())
        }
    return mesh, workload


granularities = st.sampled_from(["record", "row"])
policies = st.sampled_from([policy.name for policy in POLICIES])


@given(case=cases(), granularity=granularities, policy=policies)
@settings(max_examples=150)
def test_routes_equal_the_naive_model(
    case: tuple[Mesh, dict[str, Any]], granularity: Granularity, policy: str
) -> None:
    """Some row goes to a wrong rank, in a wrong order, to a wrong position, or not at all."""
    mesh, data = case
    table = plan_routes(mesh, load_workload(data, Place("w")), granularity, policy)
    sequence = data["sequence"]
    held = local_tokens(
        sequence["length"],
        sequence["cp_layout"],
        sequence.get("documents", []),
        mesh.cp,
        mesh.tp,
        sp=mesh.sp,
    )
    seen: set[int] = set()
    for replica, (ranks, routes) in enumerate(table.parents):
        assert list(ranks) == global_ranks(list(mesh.axes), mesh.axes, replica)
        buckets = [list(bucket) for bucket in routes.item_ids]
        expected = arrivals(
            data,
            data.get("buckets", buckets),
            held,
            row_granularity=granularity == "row",
            all_gather=mesh.cp == 1 and mesh.tp > 1 and not mesh.sp,
        )
        for parent_rank, rank in enumerate(ranks):
            seen.add(rank)
            route = table.rank_route(rank)
            assert route is not None
            found = plan_rank_exchange(mesh, load_workload(data, Place("w")), rank, granularity, policy)
            of_table = table.rank_exchange(rank)
            assert (found and found[:2]) == (of_table and of_table[:2])
            assert found[0] == route == plan_rank(mesh, table.workload, rank, granularity, policy)
            check_rank(route, expected, data, parent_rank)
            assert route.copies == (1 if mesh.sp else mesh.tp)
            assert route.local_length == len(held[parent_rank])
        check_sums(table, replica, expected)
    for rank in set(range(mesh.world_size)) - seen:
        assert mesh.coordinates(rank)["pp"] > 0
        assert table.rank_route(rank) is None


def check_rank(
    route: RankRoute, expected: list[list[Received]], data: dict[str, Any], parent_rank: int
) -> None:
    """Compare one rank's route with what the model says arrives there and elsewhere."""
    mine = expected[parent_rank]
    got = [(source, item, row) for source, item, start, stop in route.receives for row in range(start, stop)]
    assert got == [(one.source, one.item, one.row) for one in mine]
    assert route.positions == [one.position for one in mine]
    sent = [(to, item, row) for to, item, start, stop in route.sends for row in range(start, stop)]
    assert sent == [
        (rank, one.item, one.row)
        for rank, there in enumerate(expected)
        for one in there
        if one.source == parent_rank
    ]
    # Runs are maximal: no two that follow each other in a bucket could be one.
    for wire in (route.receives, route.sends):
        for before, after in pairwise(wire):
            assert before[:2] != after[:2] or before[3] < after[2]
    items = {item["item_id"]: item for item in data["items"]}
    order = sorted(
        range(len(mine)),
        key=lambda at: (
            items[mine[at].item]["batch_index"],
            tokens_of(items[mine[at].item])[0],
            mine[at].item,
            mine[at].row,
        ),
    )
    handed = [
        (item, start + offset, at + offset)
        for item, start, stop, at in route.hand_over
        for offset in range(stop - start)
    ]
    assert handed == [(mine[at].item, mine[at].row, at) for at in order]


def check_sums(table: RoutingTable, replica: int, expected: list[list[Received]]) -> None:
    """Compare the matrix with the model, and the splits of all ranks with the matrix."""
    ranks, routes = table.parents[replica]
    size = len(ranks)
    matrix = [[0] * size for _ in range(size)]
    for rank, there in enumerate(expected):
        for one in there:
            matrix[one.source][rank] += 1
    assert routes.matrix() == matrix
    every = [table.rank_route(rank) for rank in ranks]
    assert [list(one.input_splits) for one in every if one] == matrix
    assert [list(one.output_splits) for one in every if one] == [
        list(column) for column in zip(*matrix, strict=True)
    ]
    # What any schedule must move: rows at their tokens, from elsewhere.
    least = sum(
        one.source != rank and one.position >= 0 for rank, there in enumerate(expected) for one in there
    )
    assert routes.totals.least_rows_leaving == least
    assert routes.totals.transfers == sum(1 for _ in routes.transfers())


@given(mesh=meshes(), data=st.data(), granularity=granularities)
@settings(max_examples=150)
def test_padded_documents_equal_the_naive_model(
    mesh: Mesh, data: st.DataObject, granularity: Granularity
) -> None:
    """Padding moves a token and not its row, or the other way round."""
    layout = data.draw(st.sampled_from([layout.name for layout in LAYOUTS]))
    documents = data.draw(st.lists(st.integers(0, 9), max_size=4).filter(any))
    length = sum(documents)
    sequence = {"length": length, "cp_layout": layout, "documents": documents, "pad": True}
    workload = {"sequence": sequence, "items": data.draw(batches(length))}
    table = plan_routes(mesh, load_workload(workload, Place("w")), granularity)
    padded, tokens = padded_tokens(length, layout, documents, mesh.cp, mesh.tp, sp=mesh.sp)
    held = [
        [tokens[place] for place in places]
        for places in local_tokens(len(tokens), layout, padded, mesh.cp, mesh.tp, sp=mesh.sp)
    ]
    for replica, (ranks, routes) in enumerate(table.parents):
        expected = arrivals(
            workload,
            [list(bucket) for bucket in routes.item_ids],
            held,
            row_granularity=granularity == "row",
            all_gather=mesh.cp == 1 and mesh.tp > 1 and not mesh.sp,
        )
        for parent_rank, rank in enumerate(ranks):
            route = table.rank_route(rank)
            assert route is not None
            check_rank(route, expected, workload, parent_rank)
            assert route.local_length == len(held[parent_rank])
        check_sums(table, replica, expected)


@given(case=cases())
@settings(max_examples=100)
def test_every_owned_row_arrives_once(case: tuple[Mesh, dict[str, Any]]) -> None:
    """In row granularity a token gets no row, or two, or the row of another token."""
    mesh, data = case
    data.pop("destinations", None)
    table = plan_routes(mesh, load_workload(data, Place("w")), "row")
    items = {item["item_id"]: item for item in data["items"]}
    for ranks, routes in table.parents:
        for rank in ranks:
            route = table.rank_route(rank)
            assert route is not None
            shard = routes.ownership.shard(routes.ownership.shard_of(route.group_rank))
            mine = {
                item["batch_index"] * route.local_length + local + token - start: (item_id, row)
                for item_id, item in items.items()
                for row, token in enumerate(tokens_of(item))
                for start, stop, local in shard.ranges
                if start <= token < stop
            }
            arrived = [(item, row) for _, item, start, stop in route.receives for row in range(start, stop)]
            assert sorted(zip(route.positions, arrived, strict=True)) == sorted(mine.items())


@given(mesh=meshes(), data=st.data())
@settings(max_examples=100)
def test_layouts_partition_the_sequence(mesh: Mesh, data: st.DataObject) -> None:
    """Two shards hold the same token, or nobody holds one, or shards differ in length."""
    sequence = data.draw(sequences(mesh))
    workload = load_workload({"sequence": sequence, "items": []}, Place("w"))
    ownership = plan_routes(mesh, workload).fitted.ownership
    tokens: list[int] = []
    for number in range(ownership.shards):
        ranges = ownership.shard(number).ranges
        held = [token for start, stop, _ in ranges for token in range(start, stop)]
        assert len(held) == ownership.local_length
        local = [at + token - start for start, stop, at in ranges for token in range(start, stop)]
        assert sorted(local) == list(range(ownership.local_length))
        for token in held:
            assert ownership.runs(Item(0, 0, 1, ((token, 1),))) == [(number, 0, 1)]
        tokens += held
    assert sorted(tokens) == list(range(sequence["length"]))


@given(case=cases(), policy=policies, cost=st.sampled_from(["rows", "rows^2"]), granularity=granularities)
@settings(max_examples=100)
def test_policies_assign_every_item_once(
    case: tuple[Mesh, dict[str, Any]],
    policy: str,
    cost: Cost,
    granularity: Granularity,
) -> None:
    """A policy loses or doubles an item, lists a bucket out of order, or exceeds the load it promises."""
    mesh, data = case
    data.pop("buckets", None)
    table = plan_routes(
        mesh, load_workload(data, Place("w")), granularity, policy, cost=cost, load_factor=1.5
    )
    for _, routes in table.parents:
        ids = [item for bucket in routes.item_ids for item in bucket]
        assert sorted(ids) == sorted(item["item_id"] for item in data["items"])
        for bucket in routes.buckets:
            assert list(bucket) == sorted(bucket, key=lambda item: item.order)
        power = 2 if cost == "rows^2" else 1
        loads = [sum(item.rows**power for item in bucket) for bucket in routes.buckets]
        costs = [item["output_rows"] ** power for item in data["items"]]
        bound = max(-(-sum(costs) // len(loads)), max(costs, default=0))
        balanced = plan_routes(mesh, load_workload(data, Place("w")), granularity, "lpt", cost=cost)
        largest = max(
            sum(item.rows**power for item in bucket) for bucket in balanced.parents[0].routes.buckets
        )
        # Greedy balancing ends at most one item above an even share.
        assert largest <= bound + max(costs, default=0)
        if policy == "local":
            assert Traffic(table).rows_leaving <= Traffic(balanced).rows_leaving
            assert max(loads) <= max(1.5 * bound, largest)
