"""Which placement would have been right, found by trying."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from hpplan.proof.boundary import first_input
from hpplan.proof.results import Remedy
from hpplan.proof.units import run_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.proof.boundary import Entry
    from hpplan.proof.layouts import Layout
    from hpplan.proof.units import Unit

BESIDE = {"in_src": "in_dst", "in_dst": "in_src", "out_src": "out_dst", "out_dst": "out_src"}
"""Each side of a boundary, and the other one."""

_FIELDS = ("out_src", "in_dst", "params", "out_dst", "in_src")
"""Fields to change, the likeliest first."""

_BELOW = ("out_dst", "in_src", "out_src", "in_dst", "params")
"""The same of a module that is right by itself, and not where it stands."""

_OF_ACTIVATIONS = ("P(sum)", "R", "S(1)", "S(2)")


def remedies(unit: Unit) -> tuple[Remedy, ...]:
    """Return the change with which a unit is right; none where none is found.

    That is of one field, or of two parameters that have each other's placements.
    """
    return next((change for change, entry in _changes(unit) if run_unit(unit.with_entry(entry)).right), ())


def remedies_below(unit: Unit) -> tuple[str, tuple[Remedy, ...]]:
    """Return the module below a unit, right by itself, whose change makes the unit right, and that change.

    The FQN is empty where none is found.
    """
    for fqn in unit.plan:
        if fqn.startswith(f"{unit.fqn}."):
            below = unit.below(fqn)
            # Of two changes that both help, the one that leaves less to redistribute.
            changes = sorted(_changes(below, _BELOW), key=lambda one: not _agrees(below.entry, one[0]))
            for change, changed in changes:
                if run_unit(replace(unit, plan={**unit.plan, fqn: changed})).right:
                    return fqn, change
    return "", ()


def _agrees(entry: Entry, change: tuple[Remedy, ...]) -> bool:
    """Whether a side of a boundary becomes what the other side is."""
    field, *tensor = change[0].path
    if field not in BESIDE:
        return False
    name, axis = tensor
    return bool(((entry.get(BESIDE[field]) or {}).get(name) or {}).get(axis, "R") == change[0].right)


def _changes(unit: Unit, fields: tuple[str, ...] = _FIELDS) -> Iterator[tuple[tuple[Remedy, ...], Entry]]:
    """Yield one change after the other, with the entry that it makes; what is likeliest comes first."""
    entry = unit.entry
    if entry.get("is_boundary") is False:
        yield (Remedy(("is_boundary",), "false", "true"),), {**entry, "is_boundary": True}
        fields = ("params",)
    for field in fields:
        for name in _tensors(unit, field):
            for axis in unit.ranks.sizes:
                was = _placed(unit, field, name, axis)
                for right in _placements(unit, field, name):
                    if right != was:
                        changed = _with(entry, field, name, axis, right)
                        if beside := _unsaid(unit, field):
                            changed[beside] = {name: unit.ranks.stream}
                        yield (Remedy((field, name, axis), was, right),), changed
    if "params" in fields:
        yield from _swaps(unit)


def _unsaid(unit: Unit, field: str) -> str:
    """Return the other side of a boundary, where the entry says nothing of either."""
    beside = BESIDE.get(field, "")
    return beside if beside and not unit.entry.get(field) and not unit.entry.get(beside) else ""


def _placed(unit: Unit, field: str, name: str, axis: str) -> str:
    """Return how a tensor lies on an axis: as between layers, where nothing is said."""
    if _unsaid(unit, field):
        return unit.ranks.stream[axis]
    layout: Layout = (unit.entry.get(field) or {}).get(name) or {}
    return layout.get(axis, "R")


def _swaps(unit: Unit) -> Iterator[tuple[tuple[Remedy, ...], Entry]]:
    """Yield pairs of parameters with each other's placements."""
    entry = unit.entry
    layouts: dict[str, Layout] = entry.get("params") or {}
    for axis in unit.ranks.sizes:
        for one, other in combinations(layouts, 2):
            first, second = layouts[one].get(axis, "R"), layouts[other].get(axis, "R")
            if first != second:
                changed = _with(_with(entry, "params", one, axis, second), "params", other, axis, first)
                yield (
                    (
                        Remedy(("params", one, axis), first, second),
                        Remedy(("params", other, axis), second, first),
                    ),
                    changed,
                )


def _tensors(unit: Unit, field: str) -> list[str]:
    """Return the tensors that a field speaks of, or could."""
    if field == "params":
        below = [name for name, _ in unit.module.named_parameters() if name in (unit.entry.get(field) or {})]
        missing = [name for name, _ in unit.module.named_parameters() if name not in below]
        return [*below, *missing]
    names = dict.fromkeys([*(unit.entry.get(field) or {}), *(unit.entry.get(BESIDE[field]) or {})])
    return list(names) or [first_input(unit.module.forward) if field.startswith("in") else "output"]


def _placements(unit: Unit, field: str, name: str) -> tuple[str, ...]:
    if field != "params":
        return _OF_ACTIVATIONS
    dims = unit.module.get_parameter(name).ndim
    packed = (f"SS({dims - 2},2)",) if dims > 1 else ()
    return (*(f"S({dim})" for dim in range(dims)), *packed, "R")


def _with(entry: Entry, field: str, name: str, axis: str, placement: str) -> Entry:
    """Return an entry with one placement changed."""
    layouts = entry.get(field) or {}
    return {**entry, field: {**layouts, name: {**(layouts.get(name) or {}), axis: placement}}}
