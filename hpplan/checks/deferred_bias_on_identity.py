"""deferred-bias-on-identity: a bias that waits for a reduction that never comes."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.forms import Forms
from hpplan.inspection.subject import RESOLUTION, Subject

DEFERRED_BIAS_ON_IDENTITY = Code(
    "HP214",
    "deferred-bias-on-identity",
    "error",
    """\
## What it finds
`deferred_bias_params` on a boundary whose form is `identity`: over the active axes it redistributes
nothing.

## Why it hurts
A deferred bias is left out of forward and added after the output was reduced, so that it is not added once
per rank. An identity boundary has no such step: the bias is never added.

## Example
```yaml
out_src: {output: {tp: S(1)}}
out_dst: {output: {tp: S(1)}}
deferred_bias_params: [o_proj.bias]
```

## What to do
Remove `deferred_bias_params`, or give the output the reduction that it waits for.
""",
)

CODES: tuple[Code, ...] = (DEFERRED_BIAS_ON_IDENTITY,)
READS: tuple[str, ...] = (*RESOLUTION, "mesh_dim_names", "parallel_dims", "rules", "placements")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each identity boundary with deferred biases."""
    forms = Forms(subject)
    for fqn, entry in subject.boundaries.items():
        names = entry.get("deferred_bias_params")
        if names and forms.form(fqn, entry) == "identity":
            yield Diagnostic(
                DEFERRED_BIAS_ON_IDENTITY,
                f"{', '.join(f'`{name}`' for name in names)} would be added after a reduction, "
                f"and the boundary at '{fqn}' redistributes nothing",
                subject.plan.place.key("param_plan", fqn, "deferred_bias_params"),
                hint="remove `deferred_bias_params`, so that forward adds the bias",
            )
