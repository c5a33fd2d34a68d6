"""Exports of tables whose inputs travel: they hold both exchanges."""

from __future__ import annotations

from hpplan.reports.route import csv, html, nccl, param
from hpplan.reports.route.rank import rank_text
from hpplan.reports.route.text import render
from hpplan.reports.route.view import RouteView
from hpplan.reports.terminal.screen import Screen
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.workload.workload import load_workload


def _table() -> RoutingTable:
    """Return two replicas: rank 0 has both items, and rank 1 encodes the one of 3 rows and 12 patches."""
    item = {"batch_index": 0, "decoder_token_start": 0}
    items = [
        {**item, "item_id": 0, "output_rows": 4, "input_rows": 16},
        {**item, "item_id": 1, "batch_index": 1, "output_rows": 3, "input_rows": 12},
    ]
    data = {
        "feature_width": 10,
        "dtype": "float32",
        "input_width": 6,
        "input_dtype": "bfloat16",
        "encoder_pool": "all",
        "sequence": {"length": 8},
        "replicas": [{"items": items}, {"items": []}],
    }
    return plan_routes(parse_mesh("dp=2"), load_workload(data))


def test_csv_has_both() -> None:
    """Rank 0 sends 12 rows of inputs and keeps 16; rank 1 sends 3 rows of features back."""
    table = _table()
    head, *lines = csv.render(RouteView(table, "lpt")).splitlines()
    names = head.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    assert [(one["input_rows_sent"], one["input_rows_received"], one["input_rows_kept"]) for one in rows] == [
        ("12", "0", "16"),
        ("0", "12", "0"),
    ]
    assert [one["rows_sent"] for one in rows] == ["0", "3"]


def test_nccl_has_both() -> None:
    """12 bytes an input row and 40 bytes a feature row, inputs first."""
    inputs, features = nccl.render(_table()).split("\n\n")
    assert inputs == "192 144\n0 0"
    assert features == "160 0\n120 0\n"


def test_param_has_both() -> None:
    """Elements of both, in the order in which they run."""
    found = [entry for entry in param.trace(_table(), 1) if entry["comms"] == "all_to_allv"]
    assert [(one["markers"], one["dtype"], one["in_split"], one["out_split"]) for one in found] == [
        (["input exchange"], "BFloat16", [0, 0], [72, 0]),
        (["feature exchange"], "Float", [30, 0], [0, 0]),
    ]


def test_a_rank_shows_both() -> None:
    """What a rank does with inputs would be missing from its own page, and which replica it is of."""
    view = RouteView(_table(), "lpt")
    facts = " ".join(rank_text(view, 0, Screen()).split())
    assert "inputs read 2 items, 28 rows" in facts
    assert "inputs sent 12 rows of item 1 to others, keeps 16 rows" in facts
    assert "inputs received 12 rows from others" in " ".join(rank_text(view, 1, Screen()).split())
    ranks = [line.split()[:2] for line in render(view, Screen()).splitlines() if line.startswith("   ")]
    assert [one for one in ranks if "," in one[1]][:2] == [["0", "0,0,0"], ["1", "1,0,0"]]


def test_the_page_draws_each_replica() -> None:
    """The images of the second replica would lie on the tokens of the first, or nowhere."""
    items = [{"item_id": at, "batch_index": 0, "decoder_token_start": 2, "output_rows": 5} for at in range(2)]
    replicas = [{"items": [item]} for item in items]
    data = {"encoder_pool": "all", "sequence": {"length": 8}, "replicas": replicas}
    page = html.render(RouteView(plan_routes(parse_mesh("dp=2"), load_workload(data)), "lpt"))
    for replica in range(2):
        drawn = page.split(f"Batch row 0 of replica {replica}</h4>")[1].split("</div>")[0]
        assert f"CP rank 0: 5 rows on 8 tokens, of items: {replica}" in drawn
