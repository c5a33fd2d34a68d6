"""From the facts of a model and a mesh to a frozen plan: pure, and the same bytes each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.natural import natural_key
from hpplan.errors import InvalidInput
from hpplan.models.boundaries import TEMPLATES, BoundaryKind, State, find_boundaries
from hpplan.models.codes import NO_PARALLEL_PLAN
from hpplan.models.facts import ModelFacts, last_part, parent
from hpplan.models.regions import adds_after_sum
from hpplan.models.styles import style_of, styles_in_force
from hpplan.plan.fqn import ancestors
from hpplan.plan.model import Entry
from hpplan.routing.mesh import Mesh

Layout = dict[str, str]


class Frozen(NamedTuple):
    """The data of a plan, and what of the model is not in it: FQN of a module or parameter to why."""

    data: dict[str, Any]
    left_out: dict[str, str]


def freeze(model: ModelFacts, mesh: Mesh, place: Place, *, gather_logits: bool = False) -> Frozen:
    """Return the frozen plan of a model on a mesh, as transformers' own plans shard it.

    Raises InvalidInput, at the place of the model's configuration, where
    transformers has no plan for the mesh.
    """
    if problems := list(_missing_plans(model, mesh, place)):
        raise InvalidInput(problems)
    boundaries = find_boundaries(model, ep=mesh.ep > 1)
    kinds = boundaries.kinds
    placements = _placements(model, mesh)
    owned: dict[str, dict[str, Layout]] = {fqn: {} for fqn in kinds}
    for name, layout in placements.items():
        owner = next((above for above in ancestors(name) if above in kinds), None)
        if owner is not None:
            owned[owner][name[len(owner) + 1 :]] = layout
    root = "" if model.embedding is None else parent(model.embedding)
    in_stream, beside = _states(mesh, split=True), _states(mesh, split=False)
    entries: dict[str, Entry] = {}
    for fqn, kind in kinds.items():
        split = fqn == model.head or f"{fqn}.".startswith(f"{root}." if root else "")
        states = in_stream if split else beside
        entries[fqn] = _entry(model, fqn, kind, owned[fqn], states, gather_logits=gather_logits)
    names = {fqn: model.modules[fqn].class_name for fqn in kinds}
    classes = {fqn: name for fqn, name in names.items() if kinds[fqn] != "owned"}
    _mark_shared_classes(entries, classes, {name for fqn, name in names.items() if kinds[fqn] == "owned"})
    routed = sorted({name for fqn, name in names.items() if kinds[fqn] == "routed"})
    tied = sorted((sorted(group, key=natural_key) for group in model.tied), key=str)
    data: dict[str, Any] = {
        "model_type": model.model_type,
        "mesh_dim_names": [axis for axis, size in mesh.axes.items() if size > 1],
        "parallel_dims": {
            **{f"{axis}_size": getattr(mesh, axis) for axis in ("dp", "cp", "tp", "ep", "pp")},
            "sequence_parallel": mesh.sp,
        },
        "external_state_classes": routed,
        "boundary_classes": classes,
        "param_plan": entries,
        "source": {"library": model.library, "model_type": model.model_type},
        "model_class": [model.model_class],
        "tied_pairs": [[first, other] for first, *others in tied for other in others],
        "not_covered": sorted(boundaries.left_out, key=natural_key),
    }
    optional = ("external_state_classes", "tied_pairs", "not_covered")
    data = {name: value for name, value in data.items() if value or name not in optional}
    return Frozen(data, boundaries.left_out)


def _missing_plans(model: ModelFacts, mesh: Mesh, place: Place) -> Iterator[Diagnostic]:
    for axis, styles, what in (("tp", model.tp_styles, "tensor"), ("ep", model.ep_styles, "expert")):
        size = mesh.ep if axis == "ep" else mesh.tp
        if not styles and (size > 1 or (axis == "tp" and not model.ep_styles)):
            yield Diagnostic(
                NO_PARALLEL_PLAN,
                f"transformers has no {what}-parallel plan for {model.model_class}",
                place.at("model_type"),
                hint="leave ep out of the mesh" if axis == "ep" else "write the plan by hand",
            )


def _states(mesh: Mesh, *, split: bool) -> dict[State, Layout]:
    """Return the layout of a tensor in each state; only between tokens and logits the sequence is split."""
    along_tp = {
        "stream": "S(1)" if mesh.sp and split else "R",
        "whole": "R",
        "pending": "P(sum)",
        "features": "S(2)",
    }
    along_cp = "S(1)" if split else "R"
    states: dict[State, Layout] = {}
    for state, placement in along_tp.items():
        layout = {"cp": along_cp, "tp": placement}
        states[state] = {axis: layout[axis] for axis in _active(mesh)}  # type: ignore[index]
    return states


def _active(mesh: Mesh) -> list[str]:
    return [axis for axis in ("cp", "tp") if mesh.axes.get(axis, 1) > 1]


def _placements(model: ModelFacts, mesh: Mesh) -> dict[str, Layout]:
    """Return the layout of every parameter; what no rule names, transformers leaves whole."""
    styles = styles_in_force(model, ep=mesh.ep > 1)
    layouts: dict[str, Layout] = {}
    for name, parameter in model.parameters.items():
        axis, text = styles.get(name, ("tp", "replicate"))
        style = style_of(axis, text)
        placement = style.placement(last_part(name), len(parameter.shape)) if style is not None else "R"
        layout = dict.fromkeys(_active(mesh), "R")
        if axis == "ep":
            layout = {"cp": "R"} if "cp" in layout else {}
            layout["ep"] = placement
        elif axis in layout:
            layout[axis] = placement
        layouts[name] = layout
    return layouts


def _entry(
    model: ModelFacts,
    fqn: str,
    kind: BoundaryKind,
    params: dict[str, Layout],
    states: Mapping[State, Layout],
    *,
    gather_logits: bool,
) -> Entry:
    template = TEMPLATES[kind]
    entry: Entry = {"params": params}
    if template.inputs is not None:
        tensor = model.modules[fqn].inputs[0]
        for field, state in zip(("in_src", "in_dst"), template.inputs, strict=True):
            entry[field] = {tensor: dict(states[state])}
    if template.outputs is not None:
        before, after = template.outputs
        if kind == "head" and gather_logits:
            after = "whole"
        entry["out_src"] = {"output": dict(states[before])}
        entry["out_dst"] = {"output": dict(states[after])}
        if before == "pending" and states["pending"].get("tp") == "P(sum)":
            biases = [name for name in params if adds_after_sum(model, f"{fqn}.{name}")]
            if biases:
                entry["deferred_bias_params"] = sorted(biases, key=natural_key)
    entry["is_boundary"] = template.outputs is not None
    return entry


def _mark_shared_classes(
    entries: Mapping[str, Entry], classes: Mapping[str, str], unwrapped: set[str]
) -> None:
    """Have each instance wrapped alone where the class has another contract elsewhere, or none."""
    contracts: dict[str, list[Entry]] = {}
    for fqn, class_name in classes.items():
        contract = {field: value for field, value in entries[fqn].items() if field != "params"}
        if contract not in contracts.setdefault(class_name, []):
            contracts[class_name].append(contract)
    for fqn, class_name in classes.items():
        if class_name in unwrapped or len(contracts[class_name]) > 1:
            entries[fqn]["skip_source_lowering"] = True
