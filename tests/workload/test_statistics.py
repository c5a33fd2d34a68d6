"""Statistics over micro-batches and the comparison of ways, against sums worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.routing.assignment import POLICIES
from hpplan.routing.comparison import Comparison, Links, compare_ways
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.statistics import GIVEN, distribution, statistics
from hpplan.routing.traffic import Link
from hpplan.workload.micro_batches import load_micro_batches
from hpplan.workload.workload import Workload, load_workload


def workload(*items: tuple[int, int], length: int = 32, **fields: Any) -> Workload:  # noqa: ANN401 - of a workload
    """Return a workload with items of (first token, rows)."""
    listed = [
        {"item_id": number, "batch_index": 0, "decoder_token_start": start, "output_rows": rows}
        for number, (start, rows) in enumerate(items)
    ]
    return load_workload({"sequence": {"length": length}, "items": listed, **fields}, Place("w"))


def test_pools_stand_beside_policies() -> None:
    """Four photos of one replica of four: alone three ranks idle, in pools of two two, in one pool none."""
    items = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 0, "output_rows": 8, "input_rows": 32}
        for at in range(4)
    ]
    data = {
        "sequence": {"length": 8},
        "encoder_pool": 2,
        "replicas": [{"items": items}, *[{"items": []}] * 3],
    }
    found = statistics(parse_mesh("dp=4"), [load_workload(data)], only="lpt")
    assert list(found.policies) == ["lpt, pool 1", "lpt, pool 2", "lpt, pool 4"]
    measured = [
        (one["encode_imbalance"].worst, one["idle_producers"].worst, one["input_bytes_leaving"].worst)
        for one in found.policies.values()
    ]
    # Rows of one bfloat16: of four items in a pool of two, two travel, and in the pool of all three.
    assert measured == [(4.0, 3, 0), (2.0, 2, 2 * 32 * 2), (1.0, 0, 3 * 32 * 2)]
    alone = statistics(parse_mesh("dp=4"), [load_workload({**data, "encoder_pool": 1})], only="lpt")
    assert list(alone.policies) == ["lpt"]
    assert alone.policies["lpt"]["idle_producers"].worst == 3
    assert "input_bytes_leaving" not in alone.policies["lpt"]


def test_distribution() -> None:
    """The median of an even number is between the middle two; p95 is a value that occurred (nearest rank)."""
    assert distribution([3, 1]) == (2, 3, 3, 0)
    assert distribution([5]) == (5, 5, 5, 0)
    assert distribution([1, 9, 2, 9]) == (5.5, 9, 9, 1)
    hundred = distribution(list(range(1, 101)))
    assert (hundred.median, hundred.p95, hundred.worst) == (50.5, 95, 100)


def test_policies_side_by_side() -> None:
    """Rows 6, 1, 5 on two producers: lpt and contiguous have 6 and 6, round-robin 11 and 1."""
    found = statistics(parse_mesh("cp=2"), [workload((0, 6), (8, 1), (16, 5))])
    loads = {policy: values["encode_imbalance"].worst for policy, values in found.policies.items()}
    assert loads["lpt"] == 1
    assert loads["round-robin"] == 11 / 6
    assert loads["contiguous"] == 1
    assert list(loads) == [policy.name for policy in POLICIES]


def test_imbalance_is_that_of_the_cost() -> None:
    """Rows 6, 1, 5 under rows^2: lpt has 36 and 1 + 25, of which 31 is the mean."""
    batches = [workload((0, 6), (8, 1), (16, 5))]
    found = statistics(parse_mesh("cp=2"), batches, cost="rows^2", only="lpt")
    assert list(found.policies) == ["lpt"]
    assert found.policies["lpt"]["encode_imbalance"].worst == 36 / 31
    assert found.to_data()["cost"] == "rows^2"


def test_imbalance_is_that_of_the_whole_mesh() -> None:
    """Each replica looks balanced by itself, and all wait for the one with 40 of 42 rows."""
    items = [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 1}]
    small = [*items, {**items[0], "item_id": 1, "decoder_token_start": 1}]
    replicas = [{"items": small}, {"items": [{**items[0], "output_rows": 40}]}]
    one = load_workload({"sequence": {"length": 64}, "replicas": replicas}, Place("w"))
    found = statistics(parse_mesh("dp=2,cp=2"), [one, one])
    assert {values["encode_imbalance"].worst for values in found.policies.values()} == {40 / 10.5}


def test_rows_leaving_and_time() -> None:
    """An item on rank 0 for rank 1 moves its 4 rows: 4 x 2 bytes at 1 GB/s and 1 us."""
    wide = workload((16, 4), buckets=[[0], []])
    found = statistics(parse_mesh("cp=2"), [wide], link=Link(1.0, 1.0))
    given = found.policies[GIVEN]
    assert given["rows_leaving"].worst == 4
    assert given["bytes_leaving"].worst == given["busiest_rank_bytes"].worst == 8
    assert given["seconds"].worst == pytest.approx(8e-9 + 1e-6)
    assert found.policies["local"]["rows_leaving"].worst == 0
    assert "local" in found.best(next(one for one in found.measures if one.name == "rows_leaving"))


def test_given_buckets_count_only_where_all_have_some() -> None:
    """A column that mixes given and assigned buckets would say nothing."""
    both = [workload((0, 4), buckets=[[0], []]), workload((0, 4))]
    assert GIVEN not in statistics(parse_mesh("cp=2"), both).policies


def test_batches_without_images() -> None:
    """A text-only micro-batch is balanced, not a division by zero."""
    found = statistics(parse_mesh("cp=2"), [workload()])
    assert found.policies["lpt"]["encode_imbalance"] == (1, 1, 1, 0)
    assert found.policies["lpt"]["receive_imbalance"] == (1, 1, 1, 0)


def test_the_worst_micro_batch_is_named() -> None:
    """Whoever wants to look at the worst needs its number."""
    found = statistics(parse_mesh("cp=2"), [workload(), workload((0, 8)), workload((0, 2))])
    assert found.policies["lpt"]["encode_imbalance"].worst_at == 1


def test_all_bad_micro_batches_are_reported() -> None:
    """A document of many workloads says everything that is wrong in any of them, with its place."""
    good = {"sequence": {"length": 8}, "items": []}
    data = {"micro_batches": [good, {"items": []}, good, {"sequence": {"length": 0}, "items": []}]}
    with pytest.raises(InvalidInput) as caught:
        load_micro_batches(data, Place("w"))
    assert [item.place.path[:2] for item in caught.value.diagnostics] == [
        ("micro_batches", 1),
        ("micro_batches", 3),
    ]
    for wrong in ({"micro_batches": {}}, {"micro_batches": []}):
        with pytest.raises(InvalidInput):
            load_micro_batches(wrong, Place("w"))


def comparison(mesh: str, one: Workload, links: Links | None = None) -> Comparison:
    """Compare the ways on a mesh."""
    return compare_ways(plan_routes(parse_mesh(mesh), one), links or Links())


# Item 0, 10 rows from token 5, on 32 tokens over cp=2 in zigzag: CP rank 0 owns 3 of its rows
# (tokens 5 to 7), CP rank 1 the other 7. Item 1, 8 rows from token 20, lies half on each.
ZIGZAG = {"length": 32, "cp_layout": "zigzag"}
PAIR = load_workload(
    {
        "sequence": ZIGZAG,
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
            {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 8},
        ],
        "buckets": [[0], [1], [], []],
    },
    Place("w"),
)


def test_three_ways_without_sp() -> None:
    """The worked case of cp 2, tp 2 without sp: 54 rows leave as records, 29 as owned rows.

    Once per CP coordinate: rank 0 keeps 3 rows and sends 3 to rank 2 and 4 to rank 3, rank 1
    keeps 4 and sends 2 to each. Then rank 0 shows its 3 to rank 1 and gets 4, and ranks 2 and
    3 exchange 5 and 6: 11 + 18 rows.
    """
    found = comparison("cp=2,tp=2", PAIR)
    assert {way.name: way.rows for way in found.ways} == {"record": 54, "row": 29, "once": 29}
    once = found.ways[2]
    assert [(step.rows, step.busiest_rows) for step in once.steps] == [(11, 7), (18, 6)]
    # As owned rows, rank 0 sends 3 rows once and 7 rows twice.
    assert [way.busiest_rows for way in found.ways] == [30, 17, 13]
    assert found.best.name == "once"


def test_nodes_and_links() -> None:
    """With two ranks a node, only CP ranks are apart: 29 rows would cross less than the records' 36."""
    links = Links(Link(1.0, 0.0), 2, 10.0)
    found = comparison("cp=2,tp=2", PAIR, links)
    assert [way.rows_between_nodes for way in found.ways] == [36, 22, 11]
    record, row, once = (way.seconds for way in found.ways)
    # 20 rows of 2 bytes leave the node of rank 0 as records, then 10 stay in it at ten times the speed.
    assert record == pytest.approx(40e-9 + 2e-9)
    # As owned rows, it sends 14 to the other node and 3 to its neighbour.
    assert row == pytest.approx(28e-9 + 0.6e-9)
    # 7 rows between nodes, then 6 rows inside one.
    assert once == pytest.approx(14e-9 + 1.2e-9)
    assert found.best.name == "once"
    assert found.to_data()["take"] == "once"


def test_the_bandwidth_inside_nodes_is_that_between_them_by_default() -> None:
    """Giving the default in so many words changes the estimate."""
    link = Link(3.0, 7.0)
    seconds = [
        [way.seconds for way in comparison("cp=2,tp=2", PAIR, links).ways]
        for links in (Links(link), Links(link, 2), Links(link, 2, 3.0))
    ]
    assert seconds[0] == seconds[1] == seconds[2]


def test_latency_speaks_for_one_collective() -> None:
    """A second collective pays the latency again, so few rows go the direct way."""
    found = comparison("cp=2,tp=2", PAIR, Links(Link(100.0, 50.0)))
    assert found.best.name == "row"
    assert found.reason == "it takes the least estimated time"


@pytest.mark.parametrize("mesh", ["cp=2,tp=2,sp", "cp=4", "tp=4", "tp=4,sp"])
def test_no_third_way_without_copies(mesh: str) -> None:
    """Where each token has one owner, or all ranks gather anyway, there is nothing to send once."""
    assert [way.name for way in comparison(mesh, PAIR).ways] == ["record", "row"]


def test_no_third_way_with_explicit_destinations() -> None:
    """Explicit destinations say who receives; sending elsewhere first would break them."""
    one = workload((0, 4), buckets=[[0], [], [], []], destinations={0: [0, 3]})
    assert len(comparison("cp=2,tp=2", one).ways) == 2


@pytest.mark.parametrize(
    ("destinations", "missing"),
    [
        ({0: [0, 1]}, (0,)),  # rank 1 owns nothing of tokens 0 to 3
        ({0: [0], 1: [2]}, (1,)),  # item 1 lies on ranks 1 and 2, so rows of rank 1 would reach nobody
        ({0: [0], 1: [2, 1]}, ()),
    ],
)
def test_row_granularity_is_not_taken_where_it_leaves_rows_out(
    destinations: dict[int, list[int]], missing: tuple[int, ...]
) -> None:
    """Whoever takes the way that moves fewest rows loses rows that explicit destinations ask for."""
    one = workload((0, 4), (14, 4), buckets=[[0, 1], [], [], []], destinations=destinations)
    found = comparison("cp=2,tp=2,sp", one)
    assert found.incomplete == missing
    assert found.to_data()["row_leaves_out_items"] == list(missing)
    assert found.best.name == ("record" if missing else "row")
    if missing:
        assert "not equivalent" in found.reason


def test_equal_ways_take_the_simplest() -> None:
    """On one rank nothing moves, whatever the way."""
    found = comparison("tp=1", workload((0, 4)))
    assert (found.best.name, found.best.rows) == ("record", 0)
    assert "simplest" in found.reason


def test_replicas_count_each() -> None:
    """Two replicas move twice the rows; the busiest rank moves the same."""
    once, twice = comparison("cp=2,tp=2", PAIR), comparison("dp=2,cp=2,tp=2", PAIR)
    assert [way.rows for way in twice.ways] == [2 * way.rows for way in once.ways]
    assert [way.busiest_rows for way in twice.ways] == [way.busiest_rows for way in once.ways]
    nodes = comparison("dp=2,cp=2,tp=2", PAIR, Links(ranks_per_node=2))
    assert [way.rows_between_nodes for way in nodes.ways] == [72, 44, 22]


def test_the_verdict_over_many() -> None:
    """Rows 6, 1, 5 of which round-robin encodes 11 on one rank of two; lpt 6, as the mean."""
    batches = [workload((0, 6), (8, 1), (16, 5)), workload((0, 2), (4, 2))]
    buckets = [
        workload((0, 6), (8, 1), (16, 5), buckets=[[0, 2], [1]]),
        workload((0, 2), (4, 2), buckets=[[0], [1]]),
    ]
    assert statistics(parse_mesh("cp=2"), batches).to_data()["verdict"]["change"] is None
    found = statistics(parse_mesh("cp=2"), buckets).to_data()["verdict"]
    # 11 and 2 over 6 and 2.
    assert (found["times_mean"], found["worst"], found["rank"], found["idle"]) == (13 / 8, 0, 0, 0)
    assert (found["tried"], found["seconds"]) == (len(POLICIES), None)
    assert (found["change"]["option"], found["change"]["times_mean"]) == ("--assign lpt", 1.0)
