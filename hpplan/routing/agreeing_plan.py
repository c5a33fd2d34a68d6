"""A plan that says of mesh and workload what the routing table beside it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest
from hpplan.routing.mesh import AXES, Mesh
from hpplan.routing.workload_shape import KEY_ORDER

if TYPE_CHECKING:
    from hpplan.plan.model import Plan
    from hpplan.routing.routes import RoutingTable


def agreeing_plan(
    plan: Plan, table: RoutingTable, *, other_mesh: bool, other_workload: bool
) -> tuple[Plan, str]:
    """Return the plan with the table's mesh and workload where they are others than its own, and a warning.

    The workload goes under `feature_exchange`, with what the plan's own has
    beside the fields of a workload, and the sizes of the mesh into
    `parallel_dims`. The warning is empty where the mesh is the plan's own.
    Raises UnusableRequest for a mesh whose active axes, order of axes, or sp
    are not those that the plan is written for.
    """
    if other_workload:
        plan = plan.replace(feature_exchange=_with_other_fields(table.workload.to_data(), _own(plan, table)))
    if not other_mesh:
        return plan, ""
    if "parallel_dims" not in plan.data:
        _refuse_unnamed_axes(plan, table.mesh)
        return plan, ""
    dims = plan.data["parallel_dims"]
    own = Mesh(
        {axis: plan.size(axis) for axis in AXES}, dims.get("sequence_parallel", False), plan.size("ep")
    )
    used = table.mesh
    _refuse_other_axes(own, used)
    says_sp = "sequence_parallel" in dims
    if says_sp:
        _refuse_other_sp(own, used)
    sizes = {axis: used.axes.get(axis, 1) for axis in AXES}
    fields = {f"{axis}_size": size for axis, size in sizes.items() if size != own.axes[axis]}
    if used.sp and not says_sp:
        fields["sequence_parallel"] = True
    if not fields:
        return plan, ""
    warning = f"--mesh {used} is not the plan's {own}; the compiled plan gets its sizes in parallel_dims"
    return plan.replace(parallel_dims={**dims, **fields}), warning


def _own(plan: Plan, table: RoutingTable) -> object:
    """Return what in a plan a table's workload was read from, None where it has another home."""
    place = table.workload.place
    if place.document != plan.place.document:
        return None
    node: Any = plan.data
    for key in place.path:
        node = node[key]
    return node


def _with_other_fields(made: Any, own: object, path: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - of a document
    """Return a part of a workload with the fields beside it that `own` has and a workload does not."""
    if isinstance(made, list) and isinstance(own, list) and len(made) == len(own):
        return [
            _with_other_fields(element, old, (*path, "*")) for element, old in zip(made, own, strict=True)
        ]
    if not (isinstance(made, dict) and isinstance(own, dict) and path in KEY_ORDER):
        return made
    kept = {key: value for key, value in own.items() if key not in KEY_ORDER[path]}
    same = {key: _with_other_fields(value, own.get(key), (*path, key)) for key, value in made.items()}
    return {**same, **kept}


def axes_not_named(plan: Plan, mesh: Mesh) -> list[str]:
    """Return which of cp and tp are active in one of a mesh and the plan's `mesh_dim_names` alone.

    dp and pp need not be named, and a plan without that list says nothing.
    """
    if "mesh_dim_names" not in plan.data:
        return []
    names = plan.data["mesh_dim_names"]
    return [axis for axis in ("cp", "tp") if (axis in names) != (mesh.axes.get(axis, 1) > 1)]


def _refuse_unnamed_axes(plan: Plan, used: Mesh) -> None:
    """Refuse a mesh whose cp or tp is not what a plan without sizes is written for."""
    if axes_not_named(plan, used):
        names = ", ".join(plan.data["mesh_dim_names"]) or "none"
        raise UnusableRequest(
            f"the plan's mesh_dim_names are {names}, and --mesh is {used}; change mesh_dim_names and the "
            "placements of the plan first, or compile for a mesh with the plan's axes"
        )


def _refuse_other_sp(own: Mesh, used: Mesh) -> None:
    """Refuse a mesh with another sequence parallelism; without tp there is nothing that it could split."""
    if used.tp > 1 and used.sp != own.sp:
        change, instead = ("leaves out sp", "add sp to") if own.sp else ("adds sp", "leave sp out of")
        raise UnusableRequest(
            f"the plan's parallel_dims are {own}, and --mesh is {used}, which {change}; change "
            f"sequence_parallel and the placements of the plan first, or {instead} --mesh"
        )


def _refuse_other_axes(own: Mesh, used: Mesh) -> None:
    """Refuse a mesh for which more of a plan than its sizes would have to change."""
    active = [axis for axis, size in used.axes.items() if size > 1]
    there = [axis for axis, size in own.axes.items() if size > 1]
    says = f"the plan's parallel_dims are {own}, and --mesh is {used}"
    for axis in AXES:
        if (axis in active) != (axis in there):
            change = "makes active" if axis in active else "leaves out"
            raise UnusableRequest(
                f"{says}, which {change} {axis}; change parallel_dims, mesh_dim_names and the placements of "
                "the plan first, or compile for a mesh with the plan's axes"
            )
    if active != there:
        raise UnusableRequest(
            f"{says}; the ranks of a plan are in the order {', '.join(AXES)}, so write its axes in that order"
        )
    if used.ep not in {1, own.ep}:
        raise UnusableRequest(f"{says}; change ep_size and the rules of the plan first, or leave out ep")
    ranks = used.dp * used.parent_size
    if ranks % own.ep:
        raise UnusableRequest(f"{says}; ep={own.ep} of the plan does not divide dp x cp x tp = {ranks}")
