"""The verdict on a table: is it balanced, what does it cost, which change helps."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hpplan.reports.route.facts import verdict_of
from hpplan.reports.route.view import RouteView
from hpplan.routing.cluster import cluster_from_data
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.verdict import verdict
from hpplan.workload.workload import load_workload


def _replicas(draw: random.Random, count: int, length: int) -> list[dict[str, Any]]:
    number = 0
    found: list[dict[str, Any]] = []
    for _ in range(count):
        items: list[dict[str, Any]] = []
        for row in range(draw.randint(0, 4)):
            rows = draw.randint(1, length)
            item = {"item_id": number, "batch_index": row, "decoder_token_start": 0, "output_rows": rows}
            items.append({**item, "input_rows": 4 * rows})
            number += 1
        found.append({"items": items})
    return found


@pytest.mark.parametrize("seed", range(200))
def test_the_change_that_is_named_is_no_worse(seed: int) -> None:
    """Whoever follows the advice gets a slower batch."""
    draw = random.Random(seed)  # noqa: S311 - test data
    mesh = parse_mesh(
        draw.choice(["dp=4", "dp=2,cp=2", "cp=2,tp=2,sp", "cp=4", "tp=4", "dp=2,tp=2,sp", "dp=8"])
    )
    layout = draw.choice(["contiguous", "zigzag"])
    data = {
        "feature_width": draw.choice([8, 64]),
        "input_width": draw.choice([4, 96]),
        "sequence": {"length": 64, "cp_layout": layout},
        "replicas": _replicas(draw, mesh.dp, 64),
    }
    workload = load_workload(data)
    granularity: Any = draw.choice(["record", "row"])
    assign = draw.choice(["lpt", "local", "round-robin", "contiguous"])
    way: Any = {
        "load_factor": draw.choice([1.0, 1.25]),
        "ranks_per_node": draw.choice([None, 2]),
    }
    cost: Any = draw.choice(["rows", "rows^2"])
    table = plan_routes(mesh, workload, granularity, assign, cost=cost, **way)
    before = Traffic(table, cost=cost)
    found = verdict(table, before, assign, **way)
    if found.change is None:
        return
    option, value = found.change.option.split()
    if option == "--granularity":
        granularity = value
    elif option == "--assign":
        assign = value
    elif option == "--pool":
        workload = workload.with_pool(value)
    else:
        workload = workload.with_sequence(cp_layout=value)
    after = Traffic(plan_routes(mesh, workload, granularity, assign, cost=cost, **way), cost=cost)
    assert after.producer_load.largest == found.change.price.largest_load
    assert after.producer_load.largest <= before.producer_load.largest
    if after.producer_load.largest == before.producer_load.largest:
        busiest = [max(one.largest_sender.rows, one.largest_receiver.rows) for one in (after, before)]
        assert busiest[0] <= busiest[1]


def test_three_lines() -> None:
    """Four photos of one replica of four: three ranks idle, and a pool of all of them helps."""
    items = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 0, "output_rows": 10, "sample": f"s{at}"}
        for at in range(4)
    ]
    data = {
        "feature_width": 5,
        "sequence": {"length": 16},
        "replicas": [{"items": items}, *[{"items": []}] * 3],
    }
    view = RouteView(plan_routes(parse_mesh("dp=4"), load_workload(data)), "lpt")
    assert verdict_of(view) == [
        (
            "balance",
            (
                "rank 0 encodes 4.00 times the mean of 4 producers, 3 encode nothing; "
                "its largest is item 0 of sample s0, 10 rows"
            ),
        ),
        ("cost", "0 B leave their rank; the busiest rank moves 0 B"),
        # Three items of 10 rows of 5 bfloat16 come back to rank 0.
        ("change", "--pool all: 1.00 times the mean, 300 B leave their rank, the busiest moves 300 B"),
    ]


def test_nothing_to_encode() -> None:
    """A batch of text alone has no busiest rank, and nothing to change."""
    table = plan_routes(parse_mesh("cp=2"), load_workload({"sequence": {"length": 8}, "items": []}))
    found = verdict(table, Traffic(table), "lpt")
    assert (found.times_mean, found.heaviest, found.change) == (1.0, None, None)


def test_warnings_of_one_kind_are_folded() -> None:
    """Fourteen replicas with one busy receiver each fill a terminal, and hide what else there is."""
    item = {"batch_index": 0, "decoder_token_start": 0, "output_rows": 4}
    replicas = [
        {"items": [{**item, "item_id": 0}], "buckets": [[], [], [0], []], "documents": [8, 8 * at]}
        for at in range(1, 15)
    ]
    for at, replica in enumerate(replicas):
        replica["documents"] = [8 + at, 120 - at]
    data = {"sequence": {"length": 128}, "replicas": replicas}
    view = RouteView(plan_routes(parse_mesh("dp=14,cp=4"), load_workload(data)), "")
    assert [one.code.id for one in view.warnings] == ["HP436", "HP438"]
    assert all(one.message.endswith(" (13 more of the kind)") for one in view.warnings)


def test_the_verdict_as_data() -> None:
    """A script in front of a job reads the same as a person."""
    items = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 0, "output_rows": 10, "sample": f"s{at}"}
        for at in range(4)
    ]
    data = {
        "feature_width": 5,
        "sequence": {"length": 16},
        "replicas": [{"items": items}, *[{"items": []}] * 3],
    }
    found = RouteView(plan_routes(parse_mesh("dp=4"), load_workload(data)), "lpt").to_data()["verdict"]
    tried = found.pop("tried")
    assert tried > 1
    moved = {"largest_load": 10, "busiest_bytes": 300, "bytes_leaving": 300}
    assert found == {
        "rank": 0,
        "times_mean": 4.0,
        "producers": 4,
        "idle": 3,
        "heaviest": {"item_id": 0, "sample": "s0", "rows": 10},
        "largest_load": 40,
        "busiest_bytes": 0,
        "bytes_leaving": 0,
        "input_bytes": 0,
        "seconds": None,
        "change": {"option": "--pool all", "times_mean": 1.0, "seconds": None, **moved},
    }


def test_a_second_collective_is_advised_where_times_are_known() -> None:
    """`once` moves fewer bytes in two collectives, which may take longer: bytes alone do not tell."""
    item = {"item_id": 0, "batch_index": 0, "decoder_token_start": 512, "output_rows": 500}
    data = {
        "feature_width": 4096,
        "sequence": {"length": 1024},
        "items": [item],
        "buckets": [[0], [], [], []],
    }
    table = plan_routes(parse_mesh("cp=2,tp=2"), load_workload(data), "row")
    by_bytes, by_time = verdict(table, Traffic(table)), verdict(table, Traffic(table, _slow_between_nodes()))
    assert by_bytes.tried + 1 == by_time.tried
    assert (by_bytes.change and by_bytes.change.option) != "--granularity once"
    assert (by_time.change and by_time.change.option) == "--granularity once"


def _slow_between_nodes() -> Any:  # noqa: ANN401 - links
    """Two ranks a node, 0.1 GB/s between nodes and 10 within."""
    return cluster_from_data(
        {
            "ranks_per_node": 2,
            "within_node": {"bandwidth": 10.0, "latency": 10.0, "shared_by": 1},
            "between_nodes": {"bandwidth": 0.1, "latency": 50.0, "shared_by": 2},
            "copy": 10.0,
        }
    )


def test_a_batch_of_text_has_nothing_to_encode() -> None:
    """Ranks that encode nothing are not once the mean."""
    table = plan_routes(parse_mesh("cp=2"), load_workload({"sequence": {"length": 8}, "items": []}))
    assert verdict_of(RouteView(table, "lpt"))[0] == ("balance", "there is nothing to encode")
