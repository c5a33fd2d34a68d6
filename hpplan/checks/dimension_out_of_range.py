"""dimension-out-of-range: a placement along a dimension that the parameter does not have."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject
from hpplan.models.facts import join
from hpplan.plan.placement import parse_placement

DIMENSION_OUT_OF_RANGE = Code(
    "HP245",
    "dimension-out-of-range",
    "error",
    """\
## What it finds
With `--model`: a placement of a parameter along a dimension that it does not have. Parameters that differ
only in their numbers are reported once.

## Why it hurts
The runtime stops when it cuts the parameter, once the job has its accelerators.

## Example
```yaml
model.norm:
  params: {weight: {tp: S(1)}}     # the scale of a norm has one dimension
```

## What to do
Count dimensions from 0. A linear layer's weight is [out, in]: `S(0)` cuts what comes out, `S(1)` what goes
in.
""",
)

CODES: tuple[Code, ...] = (DIMENSION_OUT_OF_RANGE,)
READS: tuple[str, ...] = ("placements",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each placement beyond the dimensions of its parameter."""
    if subject.model is None:
        return
    beyond = []
    for fqn, entry in subject.plan.param_plan.items():
        for name, layout in entry.get("params", {}).items():
            parameter = subject.model.parameters.get(join(fqn, name))
            if parameter is None:
                continue
            for axis, text in layout.items():
                dim = parse_placement(text).dim
                if dim is not None and dim >= len(parameter.shape):
                    beyond.append((fqn, (name, axis, text, parameter.shape)))
    for (name, axis, text, shape), fqns in alike(beyond):
        sizes = "x".join(map(str, shape))
        yield Diagnostic(
            DIMENSION_OUT_OF_RANGE,
            f"{text} of `{name}` along `{axis}` in {fqns.names}, which is {sizes or 'a single number'}",
            subject.plan.place.at("param_plan", fqns.first, "params", name, axis),
            hint=f"its dimensions are {', '.join(map(str, range(len(shape))))}" if shape else "write R",
        )
