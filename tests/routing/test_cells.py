"""Sums that take many ranks in one step, against a walk over every one of them."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpplan.diagnostics import Place
from hpplan.routing.cells import joined, ranges_of, reaches, rows_by_rank
from hpplan.routing.mesh import Mesh, parse_mesh
from hpplan.routing.ownership import Ownership
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic, fold_matrix, rows_leaving_blocks
from hpplan.workload.layouts import LAYOUTS
from hpplan.workload.workload import Item, load_workload

if TYPE_CHECKING:
    from hpplan.routing.transfers import Granularity

Spans = list[tuple[int, int]]


@st.composite
def spread(draw: st.DrawFn) -> tuple[Ownership, Spans]:
    """Draw an item that may lie on many CP ranks, in chunks that TP ranks need not divide."""
    layout = draw(st.sampled_from(LAYOUTS))
    cp, tp, sp = draw(st.integers(1, 9)), draw(st.integers(1, 5)), draw(st.booleans())
    own = layout.multiple(cp)
    multiple = math.lcm(own, cp * tp) if sp else own
    length = multiple * draw(st.integers(1, 4))
    first = own * draw(st.integers(0, length // own))
    ownership = Ownership([layout(length, cp, (first, length - first))], length, cp, tp, sp=sp)
    cuts = sorted(draw(st.sets(st.integers(0, length), min_size=2, max_size=8)))
    spans = [(start, stop - start) for start, stop in zip(cuts[::2], cuts[1::2], strict=False)]
    return ownership, spans


@given(case=spread())
@settings(max_examples=400)
def test_stretches_are_the_runs(case: tuple[Ownership, Spans]) -> None:
    """Sums count other rows, or rows of another shard, or other transfers, than the runs have."""
    ownership, spans = case
    runs = ownership.runs(Item(0, 0, 0, tuple(spans)))
    stretches, count = ownership.stretches(Item(0, 0, 0, tuple(spans)))
    rows: Counter[int] = Counter()
    for first, width, blocks, each in stretches:
        for shards in ranges_of(first, width, blocks, ownership.slices):
            rows.update(dict.fromkeys(shards, each))
    expected: Counter[int] = Counter()
    for shard, start, stop in runs:
        expected[shard] += stop - start
    assert rows == expected
    assert count == len(runs)


@given(case=spread())
@settings(max_examples=400)
def test_joined_stretches_name_each_shard_once(case: tuple[Ownership, Spans]) -> None:
    """A destination gets a record twice, or not at all."""
    ownership, spans = case
    stretches, _ = ownership.stretches(Item(0, 0, 0, tuple(spans)))
    shapes = joined(stretches, ownership.slices)
    shards = [shard for shape in shapes for block in ranges_of(*shape, ownership.slices) for shard in block]
    assert sorted(shards) == sorted({shard for shard, _, _ in ownership.runs(Item(0, 0, 0, tuple(spans)))})
    for shard in range(ownership.shards):
        reached = [shape for shape in shapes if reaches(shard, *shape, ownership.slices)]
        assert len(reached) == (shard in shards)


@given(data=st.data(), stride=st.integers(1, 5), groups=st.integers(1, 7))
@settings(max_examples=200)
def test_rows_by_rank_are_those_of_every_cell(data: st.DataObject, stride: int, groups: int) -> None:
    """What a rank receives in the preview is not what its cells bring it."""
    size = stride * groups
    cells = []
    for _ in range(data.draw(st.integers(0, 6))):
        first = data.draw(st.integers(0, size - 1))
        group, at = divmod(first, stride)
        blocks = data.draw(st.integers(1, groups - group))
        width = data.draw(st.integers(1, stride - at if blocks > 1 else size - first))
        cells.append(
            ((data.draw(st.integers(0, size - 1)), first, width, blocks), data.draw(st.integers(1, 9)))
        )
    expected = [0] * size
    for (_, first, width, blocks), rows in cells:
        for ranks in ranges_of(first, width, blocks, stride):
            for rank in ranks:
                expected[rank] += rows
    assert rows_by_rank(cells, size, stride) == expected


@pytest.mark.parametrize("granularity", ["record", "row"])
@pytest.mark.parametrize("mesh", ["cp=2048,tp=2,sp", "cp=1024,tp=3,sp", "cp=64,tp=64,sp", "cp=4096"])
@pytest.mark.parametrize("layout", [layout.name for layout in LAYOUTS])
def test_an_image_over_many_ranks_is_few_cells(layout: str, mesh: str, granularity: Granularity) -> None:
    """The preview takes a step for each rank that an image lies on, of which there are hundreds."""
    parsed = parse_mesh(mesh)
    items = [
        {"item_id": n, "batch_index": 0, "decoder_token_start": 1000 * n + 13, "output_rows": 900}
        for n in range(12)
    ]
    data = {"sequence": {"length": 12_288, "cp_layout": layout, "pad": True}, "items": items}
    table = plan_routes(parsed, load_workload(data, Place("w")), granularity)
    routes = table.parents[0].routes
    owners = sum(len({run[0] for run in routes.ownership.runs(item)}) for _, item in routes.produced())
    assert owners > 1000
    assert len(routes.totals.cells) <= 8 * len(items)
    check_sums(table.mesh, Traffic(table))


def check_sums(mesh: Mesh, traffic: Traffic) -> None:
    """Compare what is summed up, and what nodes exchange, with every transfer."""
    parents = traffic.table.parents
    node_of = [rank // 24 for rank in range(mesh.world_size)]
    nodes = node_of[-1] + 1
    matrix = [[0] * nodes for _ in range(nodes)]
    received = [0] * mesh.world_size
    transfers = [*parents[0].routes.transfers()]
    for source, rank, _, start, stop in transfers:
        matrix[node_of[source]][node_of[rank]] += stop - start
        received[rank] += (stop - start) * (rank != source)
    assert len(transfers) == parents[0].routes.totals.transfers
    assert [one.received for one in traffic.per_rank()] == received
    assert fold_matrix(parents, node_of, nodes) == matrix
    between = sum(map(sum, matrix)) - sum(matrix[node][node] for node in range(nodes))
    assert rows_leaving_blocks(parents, node_of) == between
