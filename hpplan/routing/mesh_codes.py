"""Codes HP40x, and HP441: what can be wrong with a mesh."""

from __future__ import annotations

from hpplan.diagnostics import Code

MALFORMED_MESH = Code(
    "HP401",
    "malformed-mesh",
    "error",
    """\
## What it finds
A mesh that is not a list of `axis=size` parts with an optional `sp`, separated by commas.

## Why it hurts
Nothing can be routed without a mesh, and a guess at what was meant would route to other ranks.

## Example
```sh
hpplan route batch.yaml --mesh dp2,tp4        # dp=2,tp=4 was meant
```

## What to do
Write the axes outermost first: `--mesh dp=2,cp=2,tp=4,sp`. Leave out axes of size 1 and `sp` as you
need.
""",
)

UNKNOWN_AXIS = Code(
    "HP402",
    "unknown-axis",
    "error",
    """\
## What it finds
An axis that is none of `pp`, `dp`, `cp`, `tp` and `ep`.

## Why it hurts
An axis that is ignored changes the number of ranks, so every rank after it would get another's
rows.

## Example
```sh
hpplan route batch.yaml --mesh dp=2,ctx=4      # the axis is called cp
```

## What to do
Use the names of the mesh: `pp`, `dp`, `cp`, `tp`; `ep` may be given and only has to divide dp x cp
x tp.
""",
)

DUPLICATE_AXIS = Code(
    "HP403",
    "duplicate-axis",
    "error",
    """\
## What it finds
An axis, or `sp`, that is given twice in one mesh.

## Why it hurts
Whichever of the two sizes were taken, the other one was meant by somebody.

## Example
```sh
hpplan route batch.yaml --mesh tp=2,dp=2,tp=4
```

## What to do
Give each axis once.
""",
)

UNUSABLE_AXIS_SIZE = Code(
    "HP404",
    "unusable-axis-size",
    "error",
    """\
## What it finds
An axis size that is not a whole number of at least 1, or sizes that make more ranks than any job
has.

## Why it hurts
A mesh with such an axis has no ranks.

## Example
```yaml
parallel_dims: {cp_size: 0, tp_size: 4}     # 1 says that there is no context parallelism
```

## What to do
Write the number of ranks along the axis; 1, or no axis at all, where it is not used.
""",
)

EP_DOES_NOT_DIVIDE = Code(
    "HP405",
    "ep-does-not-divide",
    "error",
    """\
## What it finds
An expert-parallel size that does not divide dp x cp x tp.

## Why it hurts
Expert groups reshape the ranks of dp, cp and tp. With such a size the job does not start, so routes
for it prove nothing.

## Example
```sh
hpplan route batch.yaml --mesh dp=2,tp=2,ep=3   # 4 ranks cannot form groups of 3
```

## What to do
Give a size that divides dp x cp x tp, or leave `ep` out: it does not change the exchange.
""",
)

WORLD_SIZE_MISMATCH = Code(
    "HP406",
    "world-size-mismatch",
    "error",
    """\
## What it finds
A job that runs on another number of ranks than its mesh has.

## Why it hurts
A rank that the mesh does not know waits for nobody, and a rank that is missing makes the others
wait.

## Example
```sh
torchrun --nproc-per-node 4 -m hpplan exec routes.json   # the mesh of routes.json has 8 ranks
```

## What to do
Start as many ranks as pp x dp x cp x tp says, or route again for the mesh that runs.
""",
)

MESH_CONTRADICTS_PLAN = Code(
    "HP441",
    "mesh-contradicts-plan",
    "error",
    """\
## What it finds
A `--mesh` with other active axes than the plan's `parallel_dims` (or `mesh_dim_names`, where a plan has no
sizes), with these in another order, with another `ep`, or with tp and another `sp`. Other sizes of the same
axes are fine.

## Why it hurts
Placements, rules and groups of a plan are written for its axes. On such a mesh boundaries redistribute over
axes that are not there, or do not redistribute over one that is.

## Example
```sh
hpplan compile plan.yaml --mesh cp=2,tp=4 -o out      # parallel_dims: {cp_size: 1, tp_size: 4}
```

## What to do
Take a mesh with the plan's axes, or change `parallel_dims`, `mesh_dim_names` and the placements of the plan.
`hpplan validate` and `hpplan compile` refuse such a mesh; `hpplan route` warns, and shows what the workload
would be like on it.
""",
)

CODES: tuple[Code, ...] = (
    MALFORMED_MESH,
    UNKNOWN_AXIS,
    DUPLICATE_AXIS,
    UNUSABLE_AXIS_SIZE,
    EP_DOES_NOT_DIVIDE,
    WORLD_SIZE_MISMATCH,
    MESH_CONTRADICTS_PLAN,
)
