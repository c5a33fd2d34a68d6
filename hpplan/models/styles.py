"""The parallel styles of transformers: what each does to a parameter, and its part in a boundary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from hpplan.models.facts import ModelFacts, Module, upwards

Role = Literal["column", "row", "gather", "split", "embedding", "experts", "dispatch", "none"]
"""What a style makes of a module's forward.

`column` leaves features split, `row` takes them split and leaves a sum
pending. `gather` and `split` do the same with whole tensors at their other
end. `none` lets the forward be.
"""


class Style(NamedTuple):
    """What a style does to a weight, to a vector and to what is called `bias`; `{n}` is a dimension.

    `weight` counts its dimension from the end, as the style itself does:
    experts have one dimension more than linear layers.
    """

    role: Role
    weight: str = "R"
    from_end: int = 0
    vector: str = "R"
    bias: str | None = None

    def placement(self, name: str, dims: int) -> str:
        """Return the placement of a parameter along the style's axis."""
        if self.bias is not None and name == "bias":
            return self.bias
        return self.vector if dims == 1 else self.weight.format(n=dims - self.from_end)


_COLUMN = ("S({n})", 2, "S(0)")
_ROW = ("S({n})", 1, "S(0)", "R")

TP_STYLES: dict[str, Style] = {
    "colwise": Style("column", *_COLUMN),
    "packed_colwise": Style("column", "SS({n},2)", 2, "S(0)"),
    "rowwise": Style("row", *_ROW),
    "packed_rowwise": Style("row", "SS({n},2)", 1),
    "colwise_gather_output": Style("gather", *_COLUMN),
    "colwise_rep": Style("gather", *_COLUMN),
    "rowwise_split_input": Style("split", *_ROW),
    "rowwise_rep": Style("split", *_ROW),
    "embedding_rowwise": Style("embedding", "S(0)", 0, "S(0)"),
    "moe_tp_experts": Style("experts"),
    # What these do, they do to gradients alone, or to norms.
    "mla_kv_a_proj": Style("none"),
    "replicated_with_grad_allreduce": Style("none"),
    "sequence_parallel": Style("none"),
    "replicate": Style("none"),
    # A parameter of the module itself has a rule of its own.
    "local_params": Style("none"),
}
"""The styles that a plan along `tp` may have; what another one does, no plan of ours says."""

EP_STYLES: dict[str, Style] = {
    "grouped_gemm": Style("none", "S(0)", 0, "S(0)"),
    "ep_dispatch_experts": Style("dispatch"),
    "replicated_with_grad_allreduce": Style("none"),
    "replicate": Style("none"),
}
"""The same along `ep`."""


def style_of(axis: str, name: str) -> Style | None:
    """Return a style along an axis; None where no plan of ours can say what it does."""
    return (EP_STYLES if axis == "ep" else TP_STYLES).get(name)


def styles_in_force(model: ModelFacts, *, ep: bool) -> dict[str, tuple[str, str]]:
    """Return axis and style of each module and parameter that has a rule; where `ep` has one, it wins."""
    if not ep:
        return {name: ("tp", style) for name, style in model.tp_styles.items()}
    along_tp = {
        name: ("tp", style)
        for name, style in model.tp_styles.items()
        if not any(above in model.ep_styles for above in upwards(name))
    }
    return along_tp | {name: ("ep", style) for name, style in model.ep_styles.items()}


def resolved(plan: Mapping[str, str], names: Iterable[str], modules: Mapping[str, Module]) -> dict[str, str]:
    """Return the style of each module and each parameter that a rule of a plan names, as transformers does.

    A rule for a module holds for its own parameters, unless they have one.
    """
    styles = {}
    for name in names:
        pattern = _LAYER.sub(r".*\1", name)
        if pattern in plan:
            styles[name] = plan[pattern]
        elif name not in modules and (above := pattern.rpartition(".")[0]) in plan:
            styles[name] = plan[above]
    return styles


_LAYER = re.compile(r"\.\d+(\.|$)")
"""The number of a layer; of two that follow each other, transformers sees the first alone."""
