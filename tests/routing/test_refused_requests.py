"""What routing refuses, as a library."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan import Traffic, UnusableRequest, load_workload, parse_mesh, plan_rank, plan_routes, statistics
from hpplan.routing.assignment import POLICIES

*FIRST, LAST = (f'"{policy.name}"' for policy in POLICIES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"granularity": "rows"}, """granularity is "record", "row" or "once", not 'rows'"""),
        ({"granularity": "Record"}, """granularity is "record", "row" or "once", not 'Record'"""),
        ({"granularity": None}, 'granularity is "record", "row" or "once", not None'),
        ({"assign": "best"}, f"assign is {', '.join(FIRST)} or {LAST}, not 'best'"),
        ({"cost": "rows**2"}, """cost is "rows" or "rows^2", not 'rows**2'"""),
        ({"load_factor": 0.9}, "load_factor is a finite number of at least 1, not 0.9"),
        ({"load_factor": float("nan")}, "load_factor is a finite number of at least 1, not nan"),
        ({"load_factor": float("inf")}, "load_factor is a finite number of at least 1, not inf"),
        ({"load_factor": "2"}, "load_factor is a finite number of at least 1, not '2'"),
    ],
)
@pytest.mark.parametrize("buckets", [{}, {"buckets": [[], []]}])
def test_a_request_for_what_there_is_not(
    options: dict[str, Any], message: str, buckets: dict[str, Any]
) -> None:
    """A misspelled granularity routes by row, a misspelled cost counts rows, and a policy is a bare error."""
    mesh, workload = (
        parse_mesh("pp=2,cp=2"),
        load_workload({"sequence": {"length": 8}, "items": [], **buckets}),
    )
    with pytest.raises(UnusableRequest) as refused:
        plan_routes(mesh, workload, **options)
    assert str(refused.value) == message
    for rank in (0, 3):  # rank 3 is on a stage that does not exchange
        with pytest.raises(UnusableRequest) as refused:
            plan_rank(mesh, workload, rank, **options)
        assert str(refused.value) == message


def test_sums_of_what_there_is_not() -> None:
    """Loads are added up in rows where somebody asked for another cost, or over no policy at all."""
    mesh, workload = parse_mesh("cp=2"), load_workload({"sequence": {"length": 8}, "items": []})
    cost: Any = "row^2"
    with pytest.raises(UnusableRequest, match="cost is"):
        Traffic(plan_routes(mesh, workload), cost=cost)
    with pytest.raises(UnusableRequest, match="assign is"):
        statistics(mesh, [workload], only="best")
