"""ambiguous-dimension: a negative dimension of an activation."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject
from hpplan.plan.placement import parse_placement

AMBIGUOUS_DIMENSION = Code(
    "HP113",
    "ambiguous-dimension",
    "warning",
    """\
## What it finds
A negative dimension in `in_src`, `in_dst`, `out_src` or `out_dst`.

## Why it hurts
In a plan, `S(-1)` is an uneven split of dimension 0. Everywhere else in deep learning, -1 is the last
dimension. For an activation both make sense, and one of them is not what the author meant: the tensor
is then cut along the batch instead of along the features.

## Example
```yaml
out_dst: {logits: {tp: S(-1)}}      # the vocabulary, or the batch?
```

## What to do
Write the last dimension by its number, such as `S(2)`. For an uneven split of dimension 0 of an
activation, pad the activation and write `S(0)`. Parameters may be uneven: `S(-1)` in `params` is fine.
""",
)

CODES: tuple[Code, ...] = (AMBIGUOUS_DIMENSION,)
READS: tuple[str, ...] = ("placements",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each placement of an activation whose dimension is negative."""
    place = subject.plan.place
    for fqn, field, tensor, layout in subject.contracts():
        for axis, text in layout.items():
            if "(-" in text:
                parsed = parse_placement(text)
                dim, even = parsed.dim, f"S({parsed.dim})"
                if parsed.factor:
                    even = f"SS({dim},{parsed.factor})"
                yield Diagnostic(
                    AMBIGUOUS_DIMENSION,
                    f"'{text}' of `{tensor}` means an uneven split of dimension {dim}, "
                    "and reads like a dimension counted from the end",
                    place.at("param_plan", fqn, field, tensor, axis),
                    hint=f"write {even} for an even split, or the number of the dimension that is meant",
                )
