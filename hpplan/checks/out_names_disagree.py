"""out-names-disagree: outputs that are placed under a name the module does not give them."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestNames
from hpplan.wording import some

OUT_NAMES_DISAGREE = Code(
    "HP212",
    "out-names-disagree",
    "error",
    """\
## What it finds
A boundary that lists `out_names` and whose `out_src` places a tensor that is not among them, or that has
an output in `out_names` twice. Outputs without a placement are handed on as they are and are fine.

## Why it hurts
The wrapper finds an output by the position of its name in `out_names`. One that is not there is not
redistributed, and whoever comes next gets it in the wrong placement.

## Example
```yaml
out_names: [attn_output, attn_weights]
out_src: {output: {tp: P(sum)}}
```

## What to do
Use the names of `out_names` in `out_src` and `out_dst`.
""",
)

CODES: tuple[Code, ...] = (OUT_NAMES_DISAGREE,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each placed output that has no name, and each name that is there twice."""
    nearest = NearestNames()
    for fqn, entry in subject.boundaries.items():
        names = entry.get("out_names")
        if not names:
            continue
        place = subject.plan.place.at("param_plan", fqn)
        for tensor in entry.get("out_src", {}):
            if tensor not in names:
                near = nearest.of(tensor, names)
                yield Diagnostic(
                    OUT_NAMES_DISAGREE,
                    f"`out_src` places `{tensor}`, which `out_names` does not list",
                    place.key("out_src", tensor),
                    hint=f"did you mean `{near}`?" if near else f"`out_names` lists {some(names)}",
                )
        seen: set[str] = set()
        for index, name in enumerate(names):
            if name in seen:
                yield Diagnostic(
                    OUT_NAMES_DISAGREE, f"`out_names` lists `{name}` twice", place.at("out_names", index)
                )
            seen.add(name)
