"""uneven-dimension: a dimension that the mesh does not divide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject
from hpplan.models.divide import uneven_dimensions
from hpplan.models.facts import ModelFacts
from hpplan.plan.model import Plan

UNEVEN_DIMENSION = Code(
    "HP244",
    "uneven-dimension",
    "error",
    """\
## What it finds
With `--model`: a parameter that a placement cuts into unequal parts on this mesh, or inside a head, a
key-value head or an expert. Sizes are those of `--mesh`, else of `parallel_dims`. A negative dimension says
that parts may be unequal, and is left alone, unless it cuts heads or experts. Parameters that differ only in
their numbers are reported once.

## Why it hurts
The runtime refuses the cut once the job has its accelerators. A key-value projection that is cut finer than
its heads may even load: each rank then attends with half a head.

## Example
```sh
hpplan validate deepseek_v3.yaml --model config.json --mesh dp=2,cp=2,tp=3,sp   # 128 heads
```

## What to do
Take a size that divides. The hint names those that do.
""",
)

CODES: tuple[Code, ...] = (UNEVEN_DIMENSION,)
READS: tuple[str, ...] = ("placements",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each kind of parameter that the mesh does not divide."""
    if subject.model is not None:
        yield from findings(subject.model, subject.plan, subject.sizes)


def findings(model: ModelFacts, plan: Plan, sizes: Mapping[str, int]) -> Iterator[Diagnostic]:
    """Yield what sizes of axes do not divide in the parameters of a plan."""
    uneven_by_fqn = (
        (dimension.fqn, dimension._replace(fqn=""))
        for dimension in uneven_dimensions(model, plan.param_plan, sizes)
    )
    for uneven, fqns in alike(uneven_by_fqn):
        yield Diagnostic(
            UNEVEN_DIMENSION,
            f"{uneven.what} of `{uneven.name}` in {fqns.names}",
            plan.place.at("param_plan", fqns.first, "params", uneven.name, uneven.cuts[0][0]),
            hint=uneven.way_out,
        )
