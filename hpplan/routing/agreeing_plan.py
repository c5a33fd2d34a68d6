"""Whether a mesh is one of those that a plan is for, and a plan that agrees with the table beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic
from hpplan.routing.mesh import AXES, Mesh
from hpplan.routing.mesh_codes import MESH_CONTRADICTS_PLAN
from hpplan.workload.shape import KEY_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.plan.model import Plan
    from hpplan.routing.routes import RoutingTable

_OR_ITS_AXES = "or take a mesh with the plan's axes"


def agreeing_plan(
    plan: Plan, table: RoutingTable, *, other_mesh: bool, other_workload: bool
) -> tuple[Plan, str]:
    """Return the plan with the table's mesh and workload where they are others than its own, and a warning.

    The workload goes under `feature_exchange`, with what the plan's own has
    beside the fields of a workload, and the sizes of the mesh into
    `parallel_dims`. The warning is empty where the mesh is the plan's own. The
    mesh is one that `check_mesh` finds nothing about.
    """
    if other_workload:
        plan = plan.replace(feature_exchange=_with_other_fields(table.workload.to_data(), _own(plan, table)))
    if not other_mesh or "parallel_dims" not in plan.data:
        return plan, ""
    dims = plan.data["parallel_dims"]
    own, used = _mesh_of(plan), table.mesh
    sizes = {axis: used.axes.get(axis, 1) for axis in AXES}
    fields = {f"{axis}_size": size for axis, size in sizes.items() if size != own.axes[axis]}
    if used.sp and "sequence_parallel" not in dims:
        fields["sequence_parallel"] = True
    if not fields:
        return plan, ""
    warning = f"--mesh {used} is not the plan's {own}; the compiled plan gets its sizes in parallel_dims"
    return plan.replace(parallel_dims={**dims, **fields}), warning


def _mesh_of(plan: Plan) -> Mesh:
    """Return the mesh of a plan's sizes, whether its ranks can be shared out like that or not."""
    sp = plan.data.get("parallel_dims", {}).get("sequence_parallel", False)
    return Mesh({axis: plan.size(axis) for axis in AXES}, sp, plan.size("ep"))


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


def check_mesh(plan: Plan, used: Mesh) -> Iterator[Diagnostic]:
    """Yield what of a plan, beside its sizes, would have to be another for it to run on a mesh."""
    if "parallel_dims" in plan.data:
        where = plan.place.at("parallel_dims")
        for message, hint in _contradictions(plan, used):
            yield Diagnostic(MESH_CONTRADICTS_PLAN, message, where, hint)
    elif axes_not_named(plan, used):
        names = ", ".join(plan.data["mesh_dim_names"]) or "none"
        yield Diagnostic(
            MESH_CONTRADICTS_PLAN,
            f"the plan's mesh_dim_names are {names}, and --mesh is {used}; change mesh_dim_names and the "
            "placements of the plan first",
            plan.place.at("mesh_dim_names"),
            _OR_ITS_AXES,
        )


def _contradictions(plan: Plan, used: Mesh) -> Iterator[tuple[str, str | None]]:
    """Yield sentences, each with a way out, about a mesh that is not the one of a plan's sizes."""
    own = _mesh_of(plan)
    says = f"the plan's parallel_dims are {own}, and --mesh is {used}"
    active = [axis for axis, _ in used.shape[0]]
    there = [axis for axis, _ in own.shape[0]]
    makes = [axis for axis in active if axis not in there]
    lacks = [axis for axis in there if axis not in active]
    if makes or lacks:
        what = [f"makes active {', '.join(makes)}"] if makes else []
        what += [f"leaves out {', '.join(lacks)}"] if lacks else []
        change = "change parallel_dims, mesh_dim_names and the placements of the plan first"
        yield f"{says}, which {' and '.join(what)}; {change}", _OR_ITS_AXES
    elif active != there:
        order = f"the ranks of a plan are in the order {', '.join(AXES)}, so write its axes in that order"
        yield f"{says}; {order}", None
    ranks = used.dp * used.replica_size
    if used.ep not in {1, own.ep}:
        yield f"{says}; change ep_size and the rules of the plan first", "or leave out ep"
    elif ranks % own.ep:
        yield f"{says}; ep={own.ep} of the plan does not divide dp x cp x tp = {ranks}", None
    # Without tp there is nothing that sp could split, and a plan that does not say is for either.
    if "sequence_parallel" in plan.data["parallel_dims"] and used.tp > 1 and used.sp != own.sp:
        does, instead = ("leaves out sp", "add sp to") if own.sp else ("adds sp", "leave sp out of")
        change = "change sequence_parallel and the placements of the plan first"
        yield f"{says}, which {does}; {change}", f"or {instead} --mesh"
