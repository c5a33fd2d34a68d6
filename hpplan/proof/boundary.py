"""A module that runs as its entry says: its own part of each parameter, inputs and outputs redistributed."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from hpplan.plan.fqn import ancestors
from hpplan.plan.model import is_boundary
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hpplan.proof.layouts import Layout, Ranks

    Forward = Callable[..., Any]

Entry = dict[str, Any]


class BrokenError(Exception):
    """Some rank's forward failed, so that all of them stop there."""

    @property
    def said(self) -> str:
        """What a result says of it."""
        return f"forward fails: {self}" if str(self) else "forward fails"


def first_input(forward: Forward) -> str:
    """Return the name of what a module's forward takes first."""
    return next(iter(inspect.signature(forward).parameters), "")


def other_name(forward: Forward, entry: Mapping[str, Any]) -> str:
    """Return what the plan calls the one input that forward calls otherwise; empty where there is none."""
    named = [*dict.fromkeys([*(entry.get("in_src") or {}), *(entry.get("in_dst") or {})])]
    known = inspect.signature(forward).parameters
    return named[0] if len(named) == 1 and named[0] not in known else ""


def layouts_in(
    forward: Forward, entry: Mapping[str, Any], ranks: Ranks
) -> tuple[dict[str, Layout], dict[str, Layout]]:
    """Return how inputs arrive and how forward takes them; as between layers where an entry does not say."""
    arriving: dict[str, Layout] = entry.get("in_src") or {}
    wanted: dict[str, Layout] = entry.get("in_dst") or {}
    first = first_input(forward)
    if not arriving and not wanted:
        return {first: ranks.stream}, {first: ranks.stream}
    other = other_name(forward, entry)
    source, target = {}, {}
    for name in dict.fromkeys([*arriving, *wanted]):
        own = first if name == other else name
        source[own] = arriving.get(name, wanted.get(name, {}))
        target[own] = wanted.get(name, source[own])
    return source, target


def layouts_out(entry: Mapping[str, Any], ranks: Ranks) -> list[tuple[Layout, Layout]]:
    """Return how forward leaves each output, in order, and how it is handed on."""
    leaving: dict[str, Layout] = entry.get("out_src") or {}
    handed: dict[str, Layout] = entry.get("out_dst") or {}
    names = entry.get("out_names") or list(dict.fromkeys([*leaving, *handed])) or ["output"]
    pairs = []
    for name in names:
        own = leaving.get(name, handed.get(name, ranks.stream))
        pairs.append((own, handed.get(name, own)))
    return pairs


def has_inputs(entry: Mapping[str, Any]) -> bool:
    """Whether an entry says how inputs arrive, or are taken."""
    return bool(entry.get("in_src") or entry.get("in_dst"))


def runs_as_boundary(entry: Mapping[str, Any]) -> bool:
    """Whether inputs or outputs are redistributed."""
    fields = ("in_src", "in_dst", "out_src", "out_dst")
    return is_boundary(entry) and any(entry.get(field) for field in fields)


def cut_axes(plan: Mapping[str, Entry], fqn: str) -> set[str]:
    """Return the axes on which a module's forward has a part of a sum: those that split its parameters.

    What a module below it adds up or gathers by itself is whole again.
    """
    whole = {name: _made_whole(entry) for name, entry in plan.items() if name.startswith(f"{fqn}.")}
    return {
        axis
        for name, entry in plan.items()
        if name == fqn or name in whole
        for layout in (entry.get("params") or {}).values()
        for axis, placement in layout.items()
        if placement != "R" and not any(axis in whole.get(one, ()) for one in (name, *ancestors(name)))
    }


def _made_whole(entry: Mapping[str, Any]) -> set[str]:
    """Return the axes on which a boundary leaves its outputs whole that are not so by themselves."""
    if not runs_as_boundary(entry):
        return set()
    handed: dict[str, Layout] = entry.get("out_dst") or {}
    return {
        axis
        for name, layout in (entry.get("out_src") or {}).items()
        for axis, placement in layout.items()
        if placement != "R" and handed.get(name, layout).get(axis, "R") == "R"
    }


def shard_parameters(module: torch.nn.Module, fqn: str, plan: Mapping[str, Entry], ranks: Ranks) -> None:
    """Leave a module, and those below it, their parts of the parameters that the plan splits.

    Raises UnevenError, with the parameter's name, where an axis does not divide one.
    """
    from hpplan.proof.layouts import UnevenError

    known: dict[int, torch.nn.Parameter] = {}
    for name, parameter in list(module.named_parameters(remove_duplicate=False)):
        full = f"{fqn}.{name}" if fqn else name
        layout = layout_of(full, plan)
        if id(parameter) in known:
            part = known[id(parameter)]
        else:
            try:
                part = torch.nn.Parameter(ranks.part(parameter.detach(), layout))
            except UnevenError as error:
                raise UnevenError(f"{full}: {error}") from None
            known[id(parameter)] = part
        above, _, last = name.rpartition(".")
        module.get_submodule(above)._parameters[last] = part  # noqa: SLF001 - a plain attribute keeps ties apart


def layout_of(parameter: str, plan: Mapping[str, Entry]) -> Layout:
    """Return how a parameter lies, by the entry of the nearest module above it that names it."""
    for above in ancestors(parameter):
        layout: Layout | None = (plan.get(above, {}).get("params") or {}).get(parameter[len(above) + 1 :])
        if layout is not None:
            return layout
    return {}


def wrap(module: torch.nn.Module, entry: Entry, ranks: Ranks, cut: set[str], whole: set[str]) -> None:
    """Have a module redistribute what goes in and out; axes in `whole` are gathered while it runs."""
    for attribute in entry.get("tp_divide_attrs") or ():
        if "tp" in ranks.sizes and isinstance(getattr(module, attribute, None), int):
            setattr(module, attribute, getattr(module, attribute) // ranks.sizes["tp"])
    _look_up_rows(module, entry, ranks)
    if runs_as_boundary(entry):
        module.forward = partial(_run, module.forward, module, entry, ranks, cut, whole)


def _run(
    forward: Forward,
    module: torch.nn.Module,
    entry: Entry,
    ranks: Ranks,
    cut: set[str],
    whole: set[str],
    *args: object,
    **kwargs: object,
) -> Any:  # noqa: ANN401 - whatever the module returns
    bound = inspect.signature(forward).bind(*args, **kwargs)
    arriving, wanted = layouts_in(forward, entry, ranks)
    if not has_inputs(entry):
        # Inside another boundary, with a sum of its own: what goes in is whole, and its gradient is a part.
        everywhere = dict.fromkeys(ranks.sizes, "R")
        for name, given in bound.arguments.items():
            if isinstance(given, torch.Tensor) and given.is_floating_point():
                back = gradient_of(everywhere, cut & _made_whole(entry))
                bound.arguments[name] = ranks.moved(given, everywhere, everywhere, back)
        arriving = {}
    for name, source in arriving.items():
        given = bound.arguments.get(name)
        if isinstance(given, torch.Tensor):
            target = {**wanted[name], **dict.fromkeys(whole, "R")}
            bound.arguments[name] = ranks.moved(given, source, target, gradient_of(target, cut))
    biases = _without_biases(module, entry)
    try:
        result = checked(partial(forward, *bound.args, **bound.kwargs), ranks)
    finally:
        for owner, name, bias in biases:
            owner._parameters[name] = bias  # noqa: SLF001 - the same
    if not (entry.get("out_src") or entry.get("out_dst")):
        return result
    outputs = list(result) if isinstance(result, tuple) else [result]
    named = layouts_out(entry, ranks)
    checked(partial(_as_many, len(outputs), len(named)), ranks)
    for number, (leaving, handed) in enumerate(named):
        source = {**leaving, **dict.fromkeys(whole, "R")}
        outputs[number] = ranks.moved(outputs[number], source, handed)
    for _, _, bias in biases:
        outputs[0] = outputs[0] + bias
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _as_many(outputs: int, named: int) -> None:
    if named > outputs:
        raise ValueError(f"it has {plural(outputs, 'output')}, and the plan names {named}")


def gradient_of(layout: Mapping[str, str], cut: set[str]) -> Layout:
    """Return how the gradient of an input lies: each rank has a part of the sum where parameters are cut."""
    return {**layout, **{axis: "P(sum)" for axis in cut if layout.get(axis, "R") == "R"}}


def checked(action: Callable[[], Any], ranks: Ranks) -> Any:  # noqa: ANN401 - what the action returns
    """Run something on all ranks; raise BrokenError on each where it failed on one."""
    failure: Exception | None = None
    result: Any = None
    try:
        result = action()
    except BrokenError:
        raise
    except Exception as error:  # noqa: BLE001 - shapes that do not fit raise what they like
        failure = error
    if not ranks.together(well=failure is None):
        raise BrokenError(str(failure).partition("\n")[0] if failure else "")
    return result


def _without_biases(
    module: torch.nn.Module, entry: Entry
) -> list[tuple[torch.nn.Module, str, torch.nn.Parameter]]:
    """Take away the biases that are added after the sum; return what they were."""
    taken: list[tuple[torch.nn.Module, str, torch.nn.Parameter]] = []
    for name in entry.get("deferred_bias_params") or ():
        above, _, last = name.rpartition(".")
        owner = module.get_submodule(above)
        bias = owner._parameters[last]  # noqa: SLF001 - the same
        if bias is not None:
            owner._parameters[last] = None  # noqa: SLF001 - the same
            taken.append((owner, last, bias))
    return taken


def _look_up_rows(module: torch.nn.Module, entry: Entry, ranks: Ranks) -> None:
    """Have an embedding that has a part of the rows look up those alone: the others are zero."""
    layout = (entry.get("params") or {}).get("weight", {})
    if not isinstance(module, torch.nn.Embedding) or "S(0)" not in layout.values():
        return
    weight = module.weight
    rows = ranks.part(torch.arange(module.num_embeddings), layout)
    first = int(rows[0])

    def forward(input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - as the plan calls it
        own = (input >= first) & (input < first + len(rows))
        looked_up = torch.nn.functional.embedding((input - first).clamp(0, len(rows) - 1), weight)
        return looked_up.masked_fill(~own.unsqueeze(-1), 0)

    module.forward = forward  # type: ignore[method-assign]
