"""Sums of a table: per rank, in all, the peaks, folded, and in time."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from hpplan.diagnostics import Place
from hpplan.reports.route import html as route_html
from hpplan.reports.route.facts import totals_of
from hpplan.reports.route.view import RouteView
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.routing.traffic import Link, Traffic, fold_matrix, rows_leaving_blocks
from hpplan.routing.traffic_warnings import check_traffic
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from hpplan.routing.transfers import Granularity

ITEMS = [
    {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
    {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 8},
]


def table(mesh: str, granularity: Granularity = "record", **fields: Any) -> RoutingTable:  # noqa: ANN401
    """Plan the first worked case on a mesh."""
    data = {"sequence": {"length": 32, "cp_layout": "zigzag"}, "items": ITEMS, **fields}
    return plan_routes(parse_mesh(mesh), load_workload(data, Place("w")), granularity)


BUCKETS = [[0], [1], [], []]


def test_sums_of_the_first_case() -> None:
    """Totals differ from the matrix that was worked out by hand."""
    traffic = Traffic(table("cp=2,tp=2,sp", buckets=BUCKETS, feature_width=4, payloads=2), Link(1.0, 5.0))
    assert [tuple(one) for one in traffic.per_rank()] == [
        (0, 1, 10, 10, 0, 10, 20),
        (1, 1, 8, 8, 0, 8, 16),
        (2, 0, 0, 0, 10, 0, 0),
        (3, 0, 0, 0, 8, 0, 0),
    ]
    assert (traffic.rows, traffic.rows_kept, traffic.rows_leaving) == (36, 18, 18)
    assert traffic.least_rows_leaving == 11
    assert traffic.row_bytes == 4 * 2 * 2
    assert tuple(traffic.largest_sender) == (0, 10, 4.5)
    assert tuple(traffic.largest_receiver) == (2, 10, 4.5)
    assert tuple(traffic.producer_load) == (0, 0, 10, 10, 4.5)
    assert traffic.largest_buffer == 20 * 16
    # 10 rows of 16 bytes at 10^9 bytes a second, plus 5 microseconds.
    assert traffic.seconds == pytest.approx(160e-9 + 5e-6)


def test_replicas_count_each() -> None:
    """A replica is left out of the sums, or counted for another's ranks."""
    alike = Traffic(table("tp=2,dp=3,cp=2,sp", buckets=BUCKETS))
    assert alike.rows == 3 * 36
    assert [one.produced for one in alike.per_rank()] == [10, 0, 10, 0, 10, 0, 8, 0, 8, 0, 8, 0]
    replicas = [{"items": ITEMS}, {"items": ITEMS[1:]}]
    data = {"sequence": {"length": 32, "cp_layout": "zigzag"}, "replicas": replicas}
    own = Traffic(plan_routes(parse_mesh("dp=2,cp=2,tp=2,sp"), load_workload(data, Place("w"))))
    assert own.rows == 36 + 16
    assert own.producer_load.parent == 0


def test_producer_load_is_that_of_the_busiest_replica() -> None:
    """A replica at its bound hides another with forty times the load.

    Loads 1, 1 | 40, 0: rank 2 has 40, which is the bound of its parent, and the mean of four is 10.5.
    """

    def run(start: int, rows: int) -> dict[str, int]:
        return {"item_id": start, "batch_index": 0, "decoder_token_start": start, "output_rows": rows}

    replicas = [{"items": [run(0, 1), run(1, 1)]}, {"items": [run(0, 40)]}]
    own = load_workload({"sequence": {"length": 64}, "replicas": replicas}, Place("w"))
    traffic = Traffic(plan_routes(parse_mesh("dp=2,cp=2"), own))
    assert traffic.producer_load._asdict() == {
        "parent": 1,
        "rank": 2,
        "largest": 40,
        "bound": 40,
        "mean": 10.5,
    }
    assert traffic.to_data()["producer_load"] == traffic.producer_load._asdict()
    totals = dict(totals_of(RouteView(traffic.table, "lpt")))
    assert totals["producer load"] == "rank 2 of parent 1: 40 rows; bound 40, mean 10.5, 1.00 times the bound"
    assert "its bound: 40 rows on rank 2 of parent 1" in route_html.render(RouteView(traffic.table, "lpt"))


def test_folded_matrix() -> None:
    """Rows between nodes are lost or counted twice when ranks are folded to nodes."""
    for mesh in ("cp=2,tp=2,sp", "cp=2,tp=2", "tp=2,cp=2"):
        one = table(mesh, "row", buckets=BUCKETS)
        (parent,) = one.parents
        matrix = parent.routes.matrix()
        wanted = [[0, 0], [0, 0]]
        for at, line in enumerate(matrix):
            for to, rows in enumerate(line):
                wanted[parent.ranks[at] // 2][parent.ranks[to] // 2] += rows
        blocks = [0, 0, 1, 1]
        assert fold_matrix(one.parents, blocks, 2) == wanted
        assert rows_leaving_blocks(one.parents, blocks) == wanted[0][1] + wanted[1][0]


def test_warnings() -> None:
    """Something costly passes without a word, or something normal is warned of."""

    def names(one: RoutingTable) -> list[str]:
        return [found.code.name for found in check_traffic(Traffic(one))]

    assert names(table("cp=2", buckets=[[0], [1]])) == []
    assert names(table("cp=2", buckets=[[0, 1], []])) == ["idle-producer"]
    assert names(table("cp=4", buckets=[[0, 1], [], [], []])) == []
    assert names(table("tp=1", buckets=[[0, 1]], feature_width=10**9)) == []  # kept rows may be of any size
    assert names(table("cp=4", items=ITEMS[:1], sequence={"length": 64})) == []
    assert names(table("cp=4", items=ITEMS[:1], sequence={"length": 128}, buckets=[[], [0], [], []])) == [
        "overloaded-receiver"
    ]


def item(item_id: int, start: int, rows: int) -> dict[str, int]:
    """Return an item of the first batch row."""
    return {"item_id": item_id, "batch_index": 0, "decoder_token_start": start, "output_rows": rows}


@pytest.mark.parametrize(
    ("mesh", "fields", "says"),
    [
        # Rank 0 sends 10 rows to rank 1, and rank 1 sends 8 to rank 0: 2^31 bytes are 107,374,182.4 x 10 x 2.
        ("cp=2", {"buckets": [[0], [1]], "feature_width": 107374182}, None),
        ("cp=2", {"buckets": [[0], [1]], "feature_width": 107374183}, "rank 0 sends 2,147,483,660 bytes"),
        # All 32 rows to each of three ranks: 0.8 x 10^9 bytes each.
        ("cp=4", {"items": [item(0, 0, 32)], "buckets": [[0], [], [], []], "feature_width": 12500000},
         "rank 0 sends 2,400,000,000 bytes"),
        # Tokens 16 to 23 are rank 2's: 4 rows, 1.2 x 10^9 bytes, from each of two ranks.
        ("cp=4", {"items": [item(0, 16, 4), item(1, 20, 4)], "buckets": [[0], [1], [], []],
                  "sequence": {"length": 32}, "feature_width": 150000000},
         "rank 2 receives 2,400,000,000 bytes"),
        # 10 rows, 0.8 x 10^9 bytes, in one broadcast; their gradients come back from three ranks at once.
        ("tp=4", {"items": [item(0, 5, 10)], "buckets": [[0], [], [], []], "feature_width": 40000000},
         "rank 0 gets back 2,400,000,000 bytes"),
    ],
)  # fmt: skip
def test_a_tensor_of_more_bytes_than_32_bits_count(
    mesh: str, fields: dict[str, Any], says: str | None
) -> None:
    """A tensor is thought small because no pair of ranks moves much, or because its elements are counted."""
    found = [one.message for one in check_traffic(Traffic(table(mesh, **fields))) if one.code.id == "HP437"]
    assert [message.partition(" in one")[0] for message in found] == ([] if says is None else [says])


def test_fewer_items_than_producers_are_a_note() -> None:
    """Half the encoders wait, and nothing says so; or a bucket of zero, which is normal, fails a check."""
    one = Traffic(table("tp=4", items=ITEMS[:1]))
    assert list(check_traffic(one)) == []
    (found,) = check_traffic(one, notes=True)
    assert (found.code.name, found.level) == ("idle-producer", "info")
    assert found.message == "1 item for 4 producers, and ranks 1, 2, 3 encode none"
    assert "`encoder_cp_size: 4`" in (found.hint or "")
    (found,) = check_traffic(Traffic(table("cp=3,tp=2,sp", sequence={"length": 36})), notes=True)
    assert "`encoder_cp_size: 3`" in (found.hint or "")  # 2 producers; with 2 there would be 3
    assert list(check_traffic(Traffic(table("tp=4", items=[])), notes=True)) == []


@pytest.mark.slow
def test_a_large_mesh_has_no_square_in_memory() -> None:
    """The preview of tens of thousands of ranks needs gigabytes for a matrix of zeros."""
    items = [
        {"item_id": n, "batch_index": 0, "decoder_token_start": n * 1000, "output_rows": 700}
        for n in range(500)
    ]
    data = {"sequence": {"length": 16384 * 64, "cp_layout": "zigzag"}, "items": items}
    workload = load_workload(data, Place("w"))
    tracemalloc.start()
    for mesh in ("cp=2048,tp=8,sp", "cp=2,tp=8192", "tp=16384"):
        traffic = Traffic(plan_routes(parse_mesh(mesh), workload))
        assert traffic.rows >= 350_000
        arrived = sum(one.received for one in traffic.per_rank())
        # With tp alone and no sp, the producer broadcasts each row once, to all others.
        assert traffic.rows_leaving == (500 * 700 if mesh == "tp=16384" else arrived)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
