"""foreign-routes: a routing table that was made for another plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.errors import InvalidInput
from hpplan.plan.model import Plan
from hpplan.routing.agreeing_plan import axes_not_named
from hpplan.routing.mesh import Mesh, mesh_of_plan
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.workload.micro_batches import has_micro_batches, load_micro_batches
from hpplan.workload.workload import Workload, load_workload

FOREIGN_ROUTES = Code(
    "HP504",
    "foreign-routes",
    "error",
    """\
## What it finds
A routing table that is validated together with a plan, and is not what the plan's `feature_exchange` and
mesh give. Where the plan carries no workload, the mesh alone is compared; of a plan without sizes, whether cp
and tp are among its active axes. With several plans, or micro-batches, the table must belong to one of them.

## Why it hurts
The job is laid out by the plan, and the exchange by the table: groups have other ranks than the plan's, or
rows go to ranks that do not hold their tokens.

## Example
```console
$ hpplan validate plan.yaml routes.json      # tp is 4 in the plan, and 2 in the table
```

## What to do
Make the table again with `hpplan route` from this plan.
""",
)

CODES: tuple[Code, ...] = (FOREIGN_ROUTES,)


def check(
    table: RoutingTable, place: Place, plans: Sequence[tuple[Plan, Mesh | None]]
) -> Iterator[Diagnostic]:
    """Yield a finding where a table belongs to none of some plans; each has a mesh where it is given one."""
    reasons = [_difference(table, plan, mesh) for plan, mesh in plans]
    if reasons and all(reasons):
        keys, what = reasons[0] or ((), "")
        others = " or any other plan given" if len(plans) > 1 else ""
        yield Diagnostic(
            FOREIGN_ROUTES,
            f"this routing table is not that of {plans[0][0].place.document}{others}: {what}",
            place.at(*keys),
            hint="make it again with `hpplan route`",
            related=tuple(plan.place.noted("the plan it was compared with") for plan, _ in plans),
        )


def _difference(table: RoutingTable, plan: Plan, mesh: Mesh | None) -> tuple[tuple[str, ...], str] | None:
    """Return where and how a table differs from what a plan gives.

    None where it does not, and where the plan does not say enough to tell.
    """
    try:
        if mesh is None and "parallel_dims" in plan.data:
            mesh = mesh_of_plan(plan.data["parallel_dims"], plan.place.at("parallel_dims"))
        if mesh is not None and mesh.shape != table.mesh.shape:
            return ("mesh",), f"its mesh is {table.mesh}, and the plan's is {mesh}"
        if mesh is None and axes_not_named(plan, table.mesh):
            names = ", ".join(plan.data["mesh_dim_names"]) or "none"
            return ("mesh",), f"its mesh is {table.mesh}, and the plan's active axes are {names}"
        if "feature_exchange" not in plan.data:
            return None
        return _other_workload(table, plan.data["feature_exchange"], plan.place.at("feature_exchange"))
    except InvalidInput:
        return None  # reported where the plan is checked


def _other_workload(
    table: RoutingTable,
    data: Any,  # noqa: ANN401 - of a document
    place: Place,
) -> tuple[tuple[str, ...], str] | None:
    """Return how a table's workload differs from that, or those, of a plan; raise InvalidInput for none."""
    if isinstance(data, dict) and has_micro_batches(data):
        # A micro-batch that was picked out of several may have been assigned anew.
        same = any(_same_but_buckets(table.workload, batch) for batch in load_micro_batches(data, place))
        what = "none of the micro-batches of the plan's"
    else:
        workload = load_workload(data, place)
        what = "not the plan's"
        if all(batch.buckets is not None for batch in workload.batches):
            same = plan_routes(table.mesh, workload, table.granularity).digest == table.digest
        else:
            # Who produces which item was left to the table.
            same = _same_but_buckets(table.workload, workload)
    return None if same else (("workload",), f"its workload is {what} `feature_exchange`")


def _same_but_buckets(workload: Workload, other: Workload) -> bool:
    return _without_buckets(workload.to_data()) == _without_buckets(other.to_data())


def _without_buckets(data: object) -> object:
    if isinstance(data, dict):
        return {key: _without_buckets(value) for key, value in data.items() if key != "buckets"}
    if isinstance(data, list):
        return [_without_buckets(element) for element in data]
    return data
