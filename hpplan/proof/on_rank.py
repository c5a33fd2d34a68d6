"""What each rank does: run the whole model, then each unit, then all of it, as the plan says."""

from __future__ import annotations

import inspect
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.tensor import DTensor

from hpplan.plan.fqn import ancestors, is_within
from hpplan.proof.boundary import (
    BrokenError,
    checked,
    cut_axes,
    first_input,
    has_inputs,
    layout_of,
    layouts_in,
    layouts_out,
    other_name,
    runs_as_boundary,
    shard_parameters,
    wrap,
)
from hpplan.proof.remedy import remedies, remedies_below
from hpplan.proof.results import ModelResult, Outcome, Proof, Remedy, UnitResult
from hpplan.proof.units import CLOSE, Unit, run_unit, sum_over

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hpplan.proof.boundary import Entry
    from hpplan.proof.layouts import Layout, Ranks
    from hpplan.proof.small import Small

_BATCH, _TOKENS = 2, 4
"""Batch rows, and tokens for each rank."""

_IDS = {"cp": "S(1)"}
"""How a trainer hands over token ids, where the plan does not say."""


def prove(small: Small, plan: Mapping[str, Entry], owned: Mapping[str, str], ranks: Ranks) -> Proof:
    """Prove a plan on the ranks that call this together; entries are by the small model's names.

    `owned` are modules whose forward is not the model's own, and why.
    """
    model = small.model
    attention = _attention(model) if "cp" in ranks.sizes else frozenset()
    assumed = _assumed(model, plan, owned)
    arguments = _recorded(model, [fqn for fqn in plan if not is_within(fqn, assumed)], _batch(small, ranks))
    results = [
        UnitResult(small.names[fqn], type(model.get_submodule(fqn)).__name__, Outcome(), (), why, ran=False)
        for fqn, why in assumed.items()
    ]
    units = []
    for fqn, given in arguments.items():
        if not has_inputs(plan[fqn]) and any(has_inputs(plan.get(above, {})) for above in ancestors(fqn)):
            continue  # its part of what is around it
        whole = frozenset({"cp"}) if fqn in attention else frozenset()
        units.append(Unit(fqn, model.get_submodule(fqn), plan, ranks, whole, given))
    results += [_result(small, unit, found) for unit, found in _tried(units)]
    all_of_it = _run_model(small, plan, assumed, attention, ranks)
    if all_of_it.why and all(result.outcome.right for result in results):
        results = [_handed_over(result, small, plan, ranks) for result in results]
    mesh = ",".join(
        [*(f"{axis}={size}" for axis, size in ranks.sizes.items()), *(["sp"] if ranks.sp else [])]
    )
    return Proof(tuple(results), all_of_it, small.alike, type(model).__name__, mesh)


def _tried(units: list[Unit]) -> list[tuple[Unit, tuple[Outcome, tuple[Remedy, ...]]]]:
    """Run each unit, and find what would be right: of those within each other, first the innermost.

    A module below one of them, right by itself, is beside them where its change makes that one right.
    """
    found: dict[str, tuple[Outcome, tuple[Remedy, ...]]] = {}
    parts = {unit.fqn: unit for unit in units}
    for unit in sorted(units, key=lambda one: -one.fqn.count(".")):
        outcome = run_unit(unit)
        mended = any(better for one, (_, better) in found.items() if one.startswith(f"{unit.fqn}."))
        better = () if outcome.right or mended else remedies(unit)
        found[unit.fqn] = outcome, better
        if not (outcome.right or mended or better):
            below, better = remedies_below(unit)
            if below:
                where = unit.fqn.rpartition(".")[2]
                why = f"it is right by itself, and not in {where}, where {outcome.why}"
                found[below] = Outcome(why, outcome.difference), better
                parts.setdefault(below, unit.below(below))
    return [(unit, found[fqn]) for fqn, unit in parts.items()]


def _result(small: Small, unit: Unit, found: tuple[Outcome, tuple[Remedy, ...]]) -> UnitResult:
    """Return what came of a unit, with what is to be taken on trust."""
    outcome, better = found
    on_trust = ["on cp it runs on the whole sequence, in the place of a strategy"] if unit.whole_axes else []
    if other := other_name(unit.module.forward, unit.entry):
        on_trust.append(f"its {other} is what forward calls {first_input(unit.module.forward)}")
    name, kind = small.names[unit.fqn], type(unit.module).__name__
    return UnitResult(name, kind, outcome, better, "; ".join(on_trust), whole=bool(unit.whole_axes))


def _handed_over(result: UnitResult, small: Small, plan: Mapping[str, Entry], ranks: Ranks) -> UnitResult:
    """Return a result that differs where a module takes or hands on something else than others do."""
    fqn = next(one for one, named in small.names.items() if named == result.fqn)
    module, entry = small.model.get_submodule(fqn), plan.get(fqn, {})
    ends = (small.model.get_input_embeddings(), small.model.get_output_embeddings())
    inside = any(runs_as_boundary(plan.get(above, {})) for above in ancestors(fqn))
    if not result.ran or not runs_as_boundary(entry) or inside:
        return result
    first = first_input(module.forward)
    arriving, _ = layouts_in(module.forward, entry, ranks)
    handed = next(iter(entry.get("out_dst") or entry.get("out_src") or {"output": {}}))
    for field, name, layout, end in (
        ("in_src", first, arriving.get(first, ranks.stream), ends[0]),
        ("out_dst", handed, layouts_out(entry, ranks)[0][1], ends[1]),
    ):
        if module is end:
            continue
        for axis, placed in ranks.stream.items():
            if (was := layout.get(axis, "R")) != placed:
                what = "arrives" if field == "in_src" else "is handed on"
                why = f"{name} {what} as {was} on {axis}, and between layers it is {placed}"
                return result._replace(
                    outcome=Outcome(why, result.outcome.difference),
                    remedies=(Remedy((field, name, axis), was, placed),),
                )
    return result


def _batch(small: Small, ranks: Ranks) -> dict[str, Any]:
    """Return token ids, and what makes the model look at all of them even where a rank has few."""
    length = _TOKENS * ranks.device_mesh.size()
    drawn = torch.Generator().manual_seed(3)
    ids = torch.randint(0, small.vocabulary, (_BATCH, length), generator=drawn)
    above = torch.full((length, length), float("-inf"), dtype=torch.float64).triu(1)
    positions = torch.arange(length).expand(_BATCH, -1)
    if "mrope_section" in str(getattr(small.model.config.get_text_config(), "rope_parameters", "")):
        positions = positions.expand(3, -1, -1)
    return {
        "input_ids": ids,
        "position_ids": positions,
        "attention_mask": above.expand(_BATCH, 1, -1, -1),
        "use_cache": False,
    }


def _own_ids(small: Small, plan: Mapping[str, Entry], ranks: Ranks) -> torch.Tensor:
    """Return the token ids that this rank is given: as the embedding takes them."""
    ids: torch.Tensor = _batch(small, ranks)["input_ids"]
    arriving: dict[str, Layout] = plan.get(_embedding(small), {}).get("in_src") or {}
    return ranks.part(ids, next(iter(arriving.values()), _IDS))


def _embedding(small: Small) -> str:
    """Return the FQN of the module that token ids go into."""
    embedding = small.model.get_input_embeddings()
    return next((name for name, module in small.model.named_modules() if module is embedding), "")


def _attention(model: torch.nn.Module) -> frozenset[str]:
    """Return the modules in which tokens meet."""
    from hpplan.models.describe import HEADS

    return frozenset(
        fqn
        for fqn, module in model.named_modules()
        if hasattr(module, "config") and any(hasattr(module, name) for name in HEADS)
    )


def _assumed(model: torch.nn.Module, plan: Mapping[str, Entry], owned: Mapping[str, str]) -> dict[str, str]:
    """Return the outermost modules that run whole, in the order of the model, and why."""
    above = {one for fqn in plan for one in ancestors(fqn)}
    spoken = {fqn for fqn in plan if fqn not in owned}
    found: dict[str, str] = {}
    for fqn, module in model.named_modules():
        if not fqn or is_within(fqn, found):
            continue
        if fqn in owned:
            found[fqn] = owned[fqn]
        elif (
            fqn not in above
            and not is_within(fqn, spoken)
            and type(module).forward is not torch.nn.ModuleList.forward
            and any(True for _ in module.parameters())
        ):
            found[fqn] = "the plan does not cover it"
    return found


def _recorded(
    model: torch.nn.Module, names: list[str], batch: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Run the whole model; return what went into each module, in the order in which they ran."""
    heard: dict[str, dict[str, Any]] = {}

    def listen(fqn: str, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        more = bound.pop("kwargs", {})
        heard.setdefault(fqn, {**bound, **more})

    handles = [
        model.get_submodule(fqn).register_forward_pre_hook(partial(listen, fqn), with_kwargs=True)
        for fqn in names
    ]
    with torch.no_grad():
        model(**batch)
    for handle in handles:
        handle.remove()
    return heard


def _run_model(
    small: Small,
    plan: Mapping[str, Entry],
    assumed: Mapping[str, str],
    attention: frozenset[str],
    ranks: Ranks,
) -> ModelResult:
    """Run all of the model on all ranks, forward and backward, and compare with the whole."""
    batch = _batch(small, ranks)
    whole = small.model
    due = whole(**batch).logits
    drawn = torch.Generator().manual_seed(4)
    weights = torch.randn(due.shape, generator=drawn, dtype=torch.float64)
    (due * weights).sum().backward()
    try:
        local = checked(partial(_local_model, small, plan, assumed, attention, ranks), ranks)
        logits = checked(lambda: local(**{**batch, "input_ids": _own_ids(small, plan, ranks)}).logits, ranks)
        full = checked(
            lambda: DTensor.from_local(
                logits, ranks.device_mesh, ranks.placements(_handed_on(whole, plan, ranks)), run_check=False
            ).full_tensor(),
            ranks,
        )
        if not ranks.together(well=full.shape == due.shape):
            return ModelResult(f"logits have shape {list(full.shape)}, and not {list(due.shape)}", None)
        apart = ranks.largest(float((full - due).detach().abs().max())) / float(due.detach().abs().max())
        if apart > CLOSE:
            return ModelResult(f"logits differ by {apart:.1e}", apart)
        checked((full * weights).sum().backward, ranks)
    except BrokenError as error:
        return ModelResult(error.said, None)
    wrong, sums = [], []
    own = dict(local.named_parameters())
    for name, parameter in whole.named_parameters():
        if parameter.grad is None:
            continue
        gradient = own[name].grad
        given = torch.zeros_like(own[name]) if gradient is None else gradient
        axes, off = sum_over(given, parameter.grad, _layout(name, plan, assumed), ranks)
        named = _named(small, name)
        if axes is None:
            wrong.append((named, off))
        elif axes:
            sums.append((named, axes))
    whole.zero_grad()
    why = f"the gradient of {wrong[0][0]} differs by {wrong[0][1]:.1e}" if wrong else ""
    return ModelResult(why, apart, tuple(wrong), tuple(sums))


def _layout(parameter: str, plan: Mapping[str, Entry], assumed: Mapping[str, str]) -> Layout:
    return {} if is_within(parameter, assumed) else layout_of(parameter, plan)


def _named(small: Small, parameter: str) -> str:
    """Return a parameter's name in the plan."""
    above, _, last = parameter.rpartition(".")
    return f"{small.names.get(above, above)}.{last}" if above else last


def _local_model(
    small: Small,
    plan: Mapping[str, Entry],
    assumed: Mapping[str, str],
    attention: frozenset[str],
    ranks: Ranks,
) -> torch.nn.Module:
    """Return the model as this rank has it."""
    model: torch.nn.Module = deepcopy(small.model)
    model.zero_grad()
    spoken = {fqn: entry for fqn, entry in plan.items() if not is_within(fqn, assumed)}
    shard_parameters(model, "", spoken, ranks)
    for fqn, module in model.named_modules():
        whole = {"cp"} if fqn in attention else set()
        if fqn in spoken:
            wrap(module, spoken[fqn], ranks, cut_axes(spoken, fqn) - whole, whole)
        elif fqn in assumed:
            source = _IDS if fqn == _embedding(small) else ranks.stream
            module.forward = partial(_run_whole, module.forward, source, ranks)
    return model


def _run_whole(
    forward: Callable[..., Any],
    source: Layout,
    ranks: Ranks,
    *args: object,
    **kwargs: object,
) -> Any:  # noqa: ANN401 - whatever the module returns
    """Run a module on all of what ranks have, and leave each its part of the stream."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    name = first_input(forward)
    everywhere = dict.fromkeys(ranks.sizes, "R")
    bound.arguments[name] = ranks.moved(bound.arguments[name], source, everywhere, everywhere)
    result = checked(partial(forward, *bound.args, **bound.kwargs), ranks)
    outputs = list(result) if isinstance(result, tuple) else [result]
    outputs[0] = ranks.moved(outputs[0], everywhere, ranks.stream)
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _handed_on(model: Any, plan: Mapping[str, Entry], ranks: Ranks) -> Layout:  # noqa: ANN401 - of transformers
    """Return how the last module leaves the logits."""
    head = model.get_output_embeddings()
    fqn = next((name for name, module in model.named_modules() if module is head), "")
    entry = plan.get(fqn, {})
    return layouts_out(entry, ranks)[0][1] if runs_as_boundary(entry) else ranks.stream
