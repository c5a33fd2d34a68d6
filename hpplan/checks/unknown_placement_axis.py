"""unknown-placement-axis: a placement along an axis that the mesh does not have."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestNames
from hpplan.routing.mesh import AXES
from hpplan.wording import some

UNKNOWN_PLACEMENT_AXIS = Code(
    "HP204",
    "unknown-placement-axis",
    "error",
    """\
## What it finds
An axis in a placement that is not among the active axes in `mesh_dim_names`, where the plan has that
list. `ep` is left aside, because expert groups reshape the same ranks, and so is `dp`, which HP205 is
about. `R` along `cp`, `tp` or `pp` is what a missing axis means anyway and is left alone too.

## Why it hurts
There is no such axis to split the tensor over. The runtime fails when it builds the layout, or, where it
leaves out what it does not know, keeps the whole tensor on every rank.

## Example
```yaml
mesh_dim_names: [cp, tp]
param_plan:
  model.norm:
    params: {weight: {tpp: S(0)}}
```

## What to do
Correct the axis, or add it to `mesh_dim_names` (and to `parallel_dims`) if it is active.
""",
)

CODES: tuple[Code, ...] = (UNKNOWN_PLACEMENT_AXIS,)
READS: tuple[str, ...] = ("placements",)

_AXES = frozenset({*AXES, "ep"})


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each use of an axis that is not in `mesh_dim_names`."""
    plan = subject.plan
    if "mesh_dim_names" not in plan.data:
        return
    names = plan.data["mesh_dim_names"]
    allowed = frozenset(names) | {"ep", "dp"}
    known = sorted(_AXES.union(names))
    nearest = NearestNames()
    active = f"the active axes are {some(names)}" if names else "no axis is active"
    for fqn, field, tensor, layout in subject.layouts():
        if layout.keys() <= allowed:
            continue
        for axis, placement in layout.items():
            if axis in allowed or (placement == "R" and axis in _AXES):
                continue
            near = nearest.of(axis, known)
            yield Diagnostic(
                UNKNOWN_PLACEMENT_AXIS,
                f"the axis `{axis}` of `{tensor}` is not in `mesh_dim_names`",
                plan.place.key("param_plan", fqn, field, tensor, axis),
                hint=f"did you mean `{near}`?" if near and near != axis else active,
            )
