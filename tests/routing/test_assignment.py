"""Assignment policies on examples small enough to do by hand."""

from __future__ import annotations

from typing import Any

from hpplan.diagnostics import Place
from hpplan.routing.assignment import POLICIES
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload


def buckets(rows: list[int], policy: str, mesh: str = "cp=3", **options: Any) -> list[list[int]]:  # noqa: ANN401
    """Assign items with these rows, one after the other in one sequence."""
    items = [
        {"item_id": n, "batch_index": 0, "decoder_token_start": sum(rows[:n]), "output_rows": count}
        for n, count in enumerate(rows)
    ]
    data = {"sequence": {"length": sum(rows), "pad": True}, "items": items}
    table = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")), "row", policy, **options)
    return [list(bucket) for bucket in table.parents[0].routes.item_ids]


def test_lpt_takes_the_largest_first() -> None:
    """The largest item does not go first, or not to the least loaded."""
    # 7 to 0, 5 to 1, 4 to 2; then 3 to the 4, 3 to the 5, 2 to the 7 (7, 7, 8 so far: the lowest).
    assert buckets([3, 7, 2, 5, 4, 3], "lpt") == [[1, 2], [3, 5], [0, 4]]


def test_lpt_breaks_ties_by_producer_and_id() -> None:
    """The same workload comes out another way on another day."""
    assert buckets([4, 4, 4, 4], "lpt") == [[0, 3], [1], [2]]


def test_square_cost_balances_attention() -> None:
    """Under full attention one large image is taken for as much work as its rows in small ones."""
    # 6^2 is more than six times 2^2 and 2 x 2^2.
    assert buckets([6, 2, 2, 2], "lpt", "cp=2", cost="rows") == [[0], [1, 2, 3]]
    assert buckets([6, 3, 3, 3, 3], "lpt", "cp=2", cost="rows") == [[0, 3], [1, 2, 4]]
    assert buckets([6, 3, 3, 3, 3], "lpt", "cp=2", cost="rows^2") == [[0], [1, 2, 3, 4]]


def test_round_robin_and_contiguous() -> None:
    """Items do not take turns, or neighbours are torn apart."""
    assert buckets([1, 9, 1, 1, 1], "round-robin") == [[0, 3], [1, 4], [2]]
    assert buckets([3, 3, 3, 3, 3, 3], "contiguous") == [[0, 1], [2, 3], [4, 5]]
    assert buckets([1, 1, 1, 1, 1, 7], "contiguous", "cp=2") == [[0, 1, 2, 3, 4], [5]]


def test_local_keeps_rows_where_they_are_needed() -> None:
    """Rows travel although their owner had room to encode them."""
    assert buckets([4, 4, 4], "local") == [[0], [1], [2]]
    # Without room the load comes first: rank 0 owns the first two items and may take 1.25 x 4 rows.
    assert buckets([3, 3, 3, 3], "local", "cp=2") == [[0, 1], [2, 3]]
    assert buckets([6, 1, 1], "local", "cp=2", load_factor=1.0) == [[0], [1, 2]]
    for factor in (1e308, 10**400):
        # No float holds such a limit.
        assert buckets([3, 3, 3, 3], "local", "cp=2", load_factor=factor) == [[0, 1], [2, 3]]


def test_a_batch_without_items_has_empty_buckets() -> None:
    """A policy divides by the number of items."""
    for policy in POLICIES:
        data = {"sequence": {"length": 4}, "items": []}
        table = plan_routes(parse_mesh("cp=2"), load_workload(data, Place("w")), "record", policy.name)
        assert table.parents[0].routes.item_ids == ((), ())
