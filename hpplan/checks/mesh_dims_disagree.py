"""mesh-dims-disagree: active axes and sizes that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject

MESH_DIMS_DISAGREE = Code(
    "HP206",
    "mesh-dims-disagree",
    "error",
    """\
## What it finds
`mesh_dim_names` and `parallel_dims` that contradict each other: `cp` or `tp` is above 1 and not among
the active axes, an active axis has size 1 or no size at all, or an axis is named twice. `dp` and `pp`
need not be named, as no placement uses them.

## Why it hurts
Contracts are resolved over one of the two, and groups are built from the other. A boundary then
redistributes over an axis that does not exist, or does not redistribute over one that does.

## Example
```yaml
mesh_dim_names: [cp, tp]
parallel_dims: {cp_size: 1, tp_size: 4}
```

## What to do
Name exactly the axes whose size is above 1, in mesh order.
""",
)

CODES: tuple[Code, ...] = (MESH_DIMS_DISAGREE,)
READS: tuple[str, ...] = ("parallel_dims",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each contradiction, at the name or at the size."""
    plan = subject.plan
    names: list[str] = plan.data.get("mesh_dim_names", [])
    place = plan.place.at("mesh_dim_names")
    seen: set[str] = set()
    for index, axis in enumerate(names):
        if axis in seen:
            yield Diagnostic(MESH_DIMS_DISAGREE, f"`mesh_dim_names` names `{axis}` twice", place.at(index))
        seen.add(axis)
    if "mesh_dim_names" not in plan.data or "parallel_dims" not in plan.data:
        return
    for index, axis in enumerate(names):
        if plan.size(axis) == 1:
            has_size = f"{axis}_size" in plan.data["parallel_dims"]
            says = f"sets `{axis}_size` to 1" if has_size else f"has no `{axis}_size`"
            yield Diagnostic(
                MESH_DIMS_DISAGREE,
                f"`{axis}` is named as an active axis, and `parallel_dims` {says}",
                place.at(index),
                hint=f"remove `{axis}` from `mesh_dim_names`, or correct its size",
            )
    for axis in ("cp", "tp"):
        size = plan.size(axis)
        if size > 1 and axis not in names:
            yield Diagnostic(
                MESH_DIMS_DISAGREE,
                f"`{axis}_size` is {size}, and `mesh_dim_names` does not name `{axis}`",
                plan.place.key("parallel_dims", f"{axis}_size"),
                hint=f"add `{axis}` to `mesh_dim_names`",
            )
