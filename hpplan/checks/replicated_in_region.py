"""replicated-in-region: a whole parameter among others that are cut."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import Subject
from hpplan.models.facts import ModelFacts, join, last_part
from hpplan.models.styles import style_of

REPLICATED_IN_REGION = Code(
    "HP246",
    "replicated-in-region",
    "error",
    """\
## What it finds
With `--model`: a parameter that is whole on each rank of an axis, in an entry that cuts others along that
axis or leaves a sum pending over it, although transformers cuts it there, or it is made of heads or experts
as one that is cut. Modules that differ only in their numbers are reported once.

## Why it hurts
One half of the module computes with a part of the heads, the other with all of them. Shapes do not fit; where
they do, each rank adds the whole product to the sum, and the output is as many times too large.

## Example
```yaml
model.layers.0.self_attn:
  params:
    q_proj.weight: {tp: S(0)}
    k_proj.weight: {tp: S(0)}
    v_proj.weight: {tp: S(0)}
    o_proj.weight: {tp: R}          # S(1)
```

## What to do
Cut it as the message says, or keep the whole module in one piece.
""",
)

CODES: tuple[Code, ...] = (REPLICATED_IN_REGION,)
READS: tuple[str, ...] = ("mesh_dim_names", "parallel_dims", "placements")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each parameter that is replicated along an axis and should not be."""
    model, plan = subject.model, subject.plan
    if model is None:
        return
    whole_parameters = []
    for axis in ("tp", "ep"):
        if axis not in subject.active_axes and not (axis == "ep" and subject.sizes.get("ep", 1) > 1):
            continue
        for fqn, entry in plan.param_plan.items():
            params = entry.get("params", {})
            cut = {name for name, layout in params.items() if layout.get(axis, "R") != "R"}
            pending = any(layout.get(axis, "R")[0] == "P" for layout in entry.get("out_src", {}).values())
            if cut or pending:
                nouns = {noun for name in cut for noun in _nouns(model, join(fqn, name))}
                for name, layout in params.items():
                    whole = all(placement == "R" for placement in layout.values())
                    wanted = _wanted(model, axis, join(fqn, name), nouns) if whole else None
                    if wanted is not None:
                        whole_parameters.append((fqn, (name, axis, wanted)))
    for (name, axis, wanted), fqns in alike(whole_parameters):
        yield Diagnostic(
            REPLICATED_IN_REGION,
            f"`{name}` in {fqns.names} is whole on each rank of `{axis}`, {wanted}",
            plan.place.key("param_plan", fqns.first, "params", name),
        )


def _nouns(model: ModelFacts, name: str) -> set[str]:
    parameter = model.parameters.get(name)
    return {parts.noun for parts in parameter.parts.values()} if parameter is not None else set()


def _wanted(model: ModelFacts, axis: str, name: str, nouns: set[str]) -> str | None:
    """Return words for what should be there; None where a whole parameter is right, or nothing is known."""
    parameter = model.parameters.get(name)
    if parameter is None:
        return None
    style = style_of(axis, (model.ep_styles if axis == "ep" else model.tp_styles).get(name, ""))
    placement = style.placement(last_part(name), len(parameter.shape)) if style is not None else "R"
    if placement != "R":
        return f"and transformers cuts it as {placement}"
    shared = sorted(nouns & _nouns(model, name))
    return f"and the {shared[0]} of others here are cut" if shared else None
