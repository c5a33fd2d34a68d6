"""The worked routing cases: mode, destinations, matrix, totals and hand-over, in both granularities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hpplan.diagnostics import Place
from hpplan.routing.mesh import Mesh
from hpplan.routing.routes import plan_rank, plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from hpplan.routing.transfers import Granularity

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "routing.yaml").read_text(encoding="utf-8")
)


def _mesh(case: dict[str, Any]) -> Mesh:
    return Mesh({"cp": case["mesh"]["cp"], "tp": case["mesh"]["tp"]}, case["mesh"]["sp"])


@pytest.mark.parametrize("granularity", ["record", "row"])
@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_worked_case(case: dict[str, Any], granularity: Granularity) -> None:
    """Routes differ from the ones that were worked out by hand."""
    workload = load_workload(case["workload"], Place("case"))
    mesh = _mesh(case)
    table = plan_routes(mesh, workload, granularity)
    (parent,) = table.parents
    expect = case["expect"]
    assert table.mode.name == expect["mode"]
    if "destinations" in expect:
        found = {item.item_id: parent.routes.destinations(item) for _, item in parent.routes.produced()}
        assert found == expect["destinations"]
    wanted = expect[granularity]
    matrix = parent.routes.matrix()
    assert matrix == wanted["matrix"]
    assert sum(map(sum, matrix)) == wanted["rows"]
    leaving = wanted["rows"] - sum(matrix[rank][rank] for rank in range(len(matrix)))
    assert leaving == wanted["rows_leaving"]
    for rank in range(mesh.world_size):
        route = table.rank_route(rank)
        assert route is not None
        assert route == plan_rank(mesh, workload, rank, granularity)
        handed = [list(entry[:3]) for entry in route.hand_over]
        assert handed == wanted["handed_over"].get(rank, [])
        assert list(route.input_splits) == matrix[rank]
        assert list(route.output_splits) == [row[rank] for row in matrix]


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_transfers_are_listed_in_order(case: dict[str, Any]) -> None:
    """Transfers are not sorted by source, bucket order, destination, row, or do not make up the matrix."""
    workload = load_workload(case["workload"], Place("case"))
    table = plan_routes(_mesh(case), workload, "row")
    routes = table.parents[0].routes
    transfers = list(routes.transfers())
    position = {item: place for bucket in routes.item_ids for place, item in enumerate(bucket)}
    keys = [(one.source, position[one.item_id], one.destination, one.row_start) for one in transfers]
    assert keys == sorted(keys)
    matrix = [[0] * routes.size for _ in range(routes.size)]
    for one in transfers:
        matrix[one.source][one.destination] += one.row_stop - one.row_start
    assert matrix == routes.matrix()
