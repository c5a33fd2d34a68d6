"""The ways side by side, against sums over every transfer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.diagnostics import Place
from hpplan.routing.comparison import Links, compare_ways
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.routing.traffic import Link
from hpplan.routing.transfers import BatchRoutes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.routing.transfers import Granularity

Pairs = Counter[tuple[int, int]]
"""Rows from each global rank to each."""

MESHES = [
    "cp=4",
    "tp=4,sp",
    "tp=3",
    "cp=2,tp=2,sp",
    "cp=3,tp=2",
    "dp=2,cp=2,tp=3",
    "tp=2,dp=2,cp=4,sp",
    "cp=2,dp=3",
]
"""The last two have parents whose ranks are no neighbours."""


ROW_BYTES = 2
"""One column of bfloat16."""


def pairs(table: RoutingTable, granularity: Granularity) -> Pairs:
    """Return what each rank sends to each, transfer by transfer."""
    found: Pairs = Counter()
    for ranks, own in table.parents:
        routes = BatchRoutes(
            own.mode, granularity, own.ownership, own.buckets, own.encoder_cp_size, own.explicit
        )
        for source, destination, _, start, stop in routes.transfers():
            found[ranks[source], ranks[destination]] += stop - start
    return found


def once(table: RoutingTable) -> list[Pairs]:
    """Return what goes once to each CP coordinate, and what its TP group then shares."""
    tp = table.mesh.tp
    first: Pairs = Counter()
    second: Pairs = Counter()
    for ranks, own in table.parents:
        routes = BatchRoutes(own.mode, "row", own.ownership, own.buckets, own.encoder_cp_size, own.explicit)
        rows: dict[tuple[int, int, int], list[int]] = {}
        for source, cp_rank, item, start, stop in {
            (one[0], one[1] // tp, *one[2:]) for one in routes.transfers()
        }:
            rows.setdefault((source, cp_rank, item), []).extend(range(start, stop))
        for (source, cp_rank, _), of_item in rows.items():
            for at in range(len(of_item)):
                # A source of that CP coordinate keeps its row; others spread theirs evenly.
                share = next(one for one in range(tp) if at < len(of_item) * (one + 1) // tp)
                beside = source % tp if source // tp == cp_rank else (share + source) % tp
                holder = cp_rank * tp + beside
                first[ranks[source], ranks[holder]] += 1
                for other in range(cp_rank * tp, cp_rank * tp + tp):
                    second[ranks[holder], ranks[other]] += 1
    return [first, second]


def summed(steps: Iterable[Pairs], links: Links, *, broadcasts: bool) -> tuple[int, int, int, float]:
    """Return rows, rows between nodes, rows of the busiest ranks, and seconds."""
    rows = away = busiest = 0
    time = 0.0
    for step in steps:
        amounts: Counter[tuple[str, int]] = Counter()
        weights: Counter[tuple[str, int]] = Counter()
        # One that broadcasts sends a row once, whoever gets it, and to its own node where all are there.
        out: dict[int, dict[bool, int]] = {}
        for (source, to), moved in step.items():
            if source == to:
                continue
            near = source // (links.ranks_per_node or 1) == to // (links.ranks_per_node or 1)
            amounts["in", to] += moved
            weights["in", to] += moved if near else 4 * moved  # nodes are four times as fast inside
            sent = out.setdefault(source, {True: 0, False: 0})
            sent[near] = max(sent[near], moved) if broadcasts else sent[near] + moved
        for source, sent in out.items():
            if broadcasts and sent[False]:
                sent[True] = 0
            rows += sum(sent.values())
            away += sent[False] * (links.ranks_per_node is not None)
            amounts["out", source] += sum(sent.values())
            weights["out", source] += sent[True] + 4 * sent[False]
        busiest += max(amounts.values(), default=0)
        time += ROW_BYTES * max(weights.values(), default=0) / 4 / 1e9 + 3e-6
    return rows, away, busiest, time


@pytest.mark.parametrize("mesh", MESHES)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), max_size=5),
    layout=st.sampled_from(["zigzag", "contiguous"]),
    granularity=st.sampled_from(["record", "row"]),
    per_node=st.sampled_from([None, 1, 2, 3, 5, 64]),
    explicit=st.booleans(),
)
def test_ways_add_up_to_their_transfers(
    mesh: str,
    sizes: list[tuple[int, int]],
    layout: str,
    granularity: Granularity,
    per_node: int | None,
    explicit: bool,
) -> None:
    """Sums over whole blocks of ranks leave out a rank, a node, or what a rank keeps."""
    parsed = parse_mesh(mesh)
    items, token = [], 0
    for number, (rows, gap) in enumerate(sizes):
        token += gap
        items.append({"item_id": number, "batch_index": 0, "decoder_token_start": token, "output_rows": rows})
        token += rows
    data = {"sequence": {"length": 288, "cp_layout": layout, "pad": True}, "items": items}
    if explicit and items and mesh != "tp=3":
        data["destinations"] = {"0": [0, parsed.parent_size - 1]}
    table = plan_routes(parsed, load_workload(data, Place("w")), granularity)
    links = Links(Link(1.0, 3.0), per_node, None if per_node is None else 4.0)
    wanted = {"record": [pairs(table, "record")], "row": [pairs(table, "row")]}
    if parsed.cp > 1 and parsed.tp > 1 and not parsed.sp and "destinations" not in data:
        wanted["once"] = once(table)
    found = compare_ways(table, links)
    assert [way.name for way in found.ways] == list(wanted)
    for way in found.ways:
        rows, away, busiest, time = summed(wanted[way.name], links, broadcasts=mesh == "tp=3")
        assert (way.rows, way.rows_between_nodes, way.busiest_rows) == (rows, away, busiest)
        if per_node is not None:
            assert way.seconds == pytest.approx(time)
