"""one-sided-contract: a tensor with a placement before or after a boundary, and none on the other side."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.subject import SIDES, Subject
from hpplan.nearest import NearestNames
from hpplan.plan.model import Entry

ONE_SIDED_CONTRACT = Code(
    "HP213",
    "one-sided-contract",
    "error",
    """\
## What it finds
A boundary with a tensor in `in_src` that is not in `in_dst`, or the other way round; the same for
`out_src` and `out_dst`.

## Why it hurts
A redistribution has two ends. Of a tensor that has one, nobody knows whether the missing end means "as it
is" or was forgotten; the wrapper leaves it alone.

## Example
```yaml
in_src: {hidden_states: {tp: S(1)}}
in_dst: {}
```

## What to do
Write both ends, the same placement twice where nothing changes; or remove the one.
""",
)

CODES: tuple[Code, ...] = (ONE_SIDED_CONTRACT,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each tensor of a boundary that has one side only."""
    nearest = NearestNames()
    for fqn, entry in subject.boundaries.items():
        for source, target in SIDES:
            if entry.get(source, {}).keys() != entry.get(target, {}).keys():
                place = subject.plan.place.at("param_plan", fqn)
                yield from _one_sided(entry, source, target, place, nearest)
                yield from _one_sided(entry, target, source, place, nearest)


def _one_sided(
    entry: Entry, here: str, there: str, place: Place, nearest: NearestNames
) -> Iterator[Diagnostic]:
    others = entry.get(there, {})
    for tensor in entry.get(here, {}):
        if tensor not in others:
            near = nearest.of(tensor, others)
            yield Diagnostic(
                ONE_SIDED_CONTRACT,
                f"`{tensor}` is in `{here}` and not in `{there}`",
                place.key(here, tensor),
                hint=f"`{there}` has `{near}`; is it the same tensor?"
                if near
                else f"write its placement in `{there}` as well",
            )
