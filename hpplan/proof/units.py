"""The modules of a plan that are proven one by one: how each runs, and how far it is from the whole."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from hpplan.proof.boundary import (
    BrokenError,
    checked,
    cut_axes,
    first_input,
    layout_of,
    layouts_in,
    layouts_out,
    runs_as_boundary,
    shard_parameters,
    wrap,
)
from hpplan.proof.results import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hpplan.proof.boundary import Entry
    from hpplan.proof.layouts import Layout, Ranks

CLOSE = 1e-5
"""How far right numbers may be apart, against the largest beside them.

They are in float64, but for what models do in float32: routers, rotations.
"""


@dataclass(frozen=True)
class Unit:
    """A module of the small model with an entry in the plan, and what went into it in the whole model."""

    fqn: str
    """In the small model; entries are by these names."""
    module: torch.nn.Module
    """Whole."""
    plan: Mapping[str, Entry]
    ranks: Ranks
    whole_axes: frozenset[str]
    """Axes on which forward cannot run apart, as attention on cp."""
    arguments: Mapping[str, Any]

    @property
    def entry(self) -> Entry:
        """Its own entry."""
        return self.plan[self.fqn]

    def below(self, fqn: str) -> Unit:
        """Return a module below as a unit; what went into it is not known."""
        module = self.module.get_submodule(fqn[len(self.fqn) + 1 :])
        return replace(self, fqn=fqn, module=module, whole_axes=frozenset(), arguments={})

    def with_entry(self, entry: Entry) -> Unit:
        """Return the unit with another entry."""
        return replace(self, plan={**self.plan, self.fqn: entry})


def local_module(unit: Unit) -> torch.nn.Module:
    """Return the unit's module as this rank has it; raises UnevenError."""
    module = deepcopy(unit.module)
    shard_parameters(module, unit.fqn, unit.plan, unit.ranks)
    for name, below in module.named_modules():
        fqn = f"{unit.fqn}.{name}" if name else unit.fqn
        if fqn in unit.plan:
            whole = set(unit.whole_axes) if not name else set()
            wrap(below, unit.plan[fqn], unit.ranks, cut_axes(unit.plan, fqn) - whole, whole)
    return module


def run_unit(unit: Unit) -> Outcome:
    """Run a unit on all ranks, and compare outputs and gradients with those of the whole module."""
    ranks = unit.ranks
    try:
        module = checked(partial(local_module, unit), ranks)
        return _compared(unit, module)
    except BrokenError as error:
        return Outcome(error.said)


def _compared(unit: Unit, module: torch.nn.Module) -> Outcome:
    """Run a module and its local part, and compare what they leave and give back."""
    ranks = unit.ranks
    arriving, handed = _sides(unit)
    given = {name: unit.arguments.get(name) for name in arriving}
    inputs = {
        name: value.detach().clone() for name, value in given.items() if isinstance(value, torch.Tensor)
    }
    if missing := [name for name in given if name not in inputs]:
        return Outcome(f"forward takes no tensor called {missing[0]}")
    local = checked(lambda: {name: ranks.part(one, arriving[name]) for name, one in inputs.items()}, ranks)
    trained = [name for name, value in inputs.items() if value.is_floating_point()]
    for name in trained:
        inputs[name].requires_grad_()
        local[name].requires_grad_()
    expected = _outputs(unit.module(**{**unit.arguments, **inputs}), len(handed))
    left = checked(lambda: _outputs(module(**{**unit.arguments, **local}), len(handed)), ranks)
    due = checked(lambda: ranks.parts(expected, handed), ranks)
    outcome = _outputs_apart(left, due, ranks)
    if not outcome.right:
        return outcome
    drawn = torch.Generator().manual_seed(2)
    gradients = [torch.randn(one.shape, generator=drawn, dtype=torch.float64) for one in expected]
    theirs = _gradients(expected, [inputs[name] for name in trained], unit.module, gradients)
    back = ranks.parts(gradients, handed)
    ours = checked(lambda: _gradients(left, [local[name] for name in trained], module, back), ranks)
    return _gradients_apart(unit, trained, arriving, theirs, ours, outcome.difference or 0.0)


def _sides(unit: Unit) -> tuple[dict[str, Layout], list[Layout]]:
    """Return how inputs arrive, and how outputs are handed on."""
    if not runs_as_boundary(unit.entry):
        return {first_input(unit.module.forward): unit.ranks.stream}, [unit.ranks.stream]
    arriving, _ = layouts_in(unit.module.forward, unit.entry, unit.ranks)
    return arriving, [handed for _, handed in layouts_out(unit.entry, unit.ranks)]


def _outputs_apart(left: list[torch.Tensor], due: list[torch.Tensor], ranks: Ranks) -> Outcome:
    worst = 0.0
    for own, wanted in zip(left, due, strict=True):
        if not ranks.together(well=own.shape == wanted.shape):
            return Outcome(f"the output has shape {list(own.shape)}, and not {list(wanted.shape)}")
        worst = max(worst, _apart(own, wanted, ranks))
    return Outcome(f"the output differs by {worst:.1e}" if worst > CLOSE else "", worst)


def _gradients_apart(
    unit: Unit,
    trained: Iterable[str],
    arriving: Mapping[str, Layout],
    theirs: Gradients,
    ours: Gradients,
    worst: float,
) -> Outcome:
    """Compare gradients of inputs, and of parameters with a sum or without."""
    ranks, why = unit.ranks, ""
    for name, whole, own in zip(trained, theirs.inputs, ours.inputs, strict=True):
        apart = _apart(own, ranks.part(whole, arriving[name]), ranks)
        worst = max(worst, apart)
        if apart > CLOSE:
            why = why or f"the gradient of {name} differs by {apart:.1e}"
    for name, whole in theirs.parameters.items():
        axes, apart = sum_over(
            ours.parameters[name], whole, layout_of(f"{unit.fqn}.{name}", unit.plan), ranks
        )
        if axes is None:
            worst = max(worst, apart)
            why = why or f"the gradient of {name} differs by {apart:.1e}"
    return Outcome(why, worst)


class Gradients(NamedTuple):
    """Of inputs, in order, and of parameters by name."""

    inputs: list[torch.Tensor]
    parameters: dict[str, torch.Tensor]


def _outputs(result: Any, count: int) -> list[torch.Tensor]:  # noqa: ANN401 - whatever a module returns
    """Return the first outputs of a module."""
    return list(result[:count]) if isinstance(result, tuple) else [result]


def _gradients(
    outputs: list[torch.Tensor],
    inputs: list[torch.Tensor],
    module: torch.nn.Module,
    gradients: list[torch.Tensor],
) -> Gradients:
    """Return the gradients of inputs and parameters; zeros where one is not used."""
    parameters = dict(module.named_parameters())
    wanted = [*inputs, *parameters.values()]
    found: tuple[torch.Tensor | None, ...] = torch.autograd.grad(
        outputs, wanted, gradients, allow_unused=True
    )
    filled = [
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(wanted, found, strict=True)
    ]
    return Gradients(filled[: len(inputs)], dict(zip(parameters, filled[len(inputs) :], strict=True)))


def sum_over(
    local: torch.Tensor, whole: torch.Tensor, layout: Layout, ranks: Ranks
) -> tuple[tuple[str, ...] | None, float]:
    """Return over which axes the ranks' gradients must be summed to be right, None where none helps.

    Beside it stands how far the gradient is off without a sum.
    """
    due = ranks.part(whole, layout)
    first = _apart(local, due, ranks)
    if first <= CLOSE:
        return (), first
    free = [axis for axis in ranks.sizes if layout.get(axis, "R") == "R"]
    for axes in (*((axis,) for axis in free), *([tuple(free)] if len(free) > 1 else [])):
        total = local
        for axis in axes:
            total = ranks.summed(total, axis)
        if _apart(total, due, ranks) <= CLOSE:
            return axes, first
    return None, first


def _apart(own: torch.Tensor, due: torch.Tensor, ranks: Ranks) -> float:
    """Return the largest difference on any rank, against the largest number that is due on any."""
    if own.shape != due.shape:
        return float("inf")
    largest = ranks.largest(float(due.detach().abs().max()) if due.numel() else 0.0)
    apart = ranks.largest(float((own.detach() - due.detach()).abs().max()) if due.numel() else 0.0)
    return apart / largest if largest else apart
