"""Modules that differ only in their numbers and have one fault: told once, at the first of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from hpplan.documents.natural import natural_key
from hpplan.plan.folding import Shape, fold, shape_of

T = TypeVar("T")


class Alike(NamedTuple):
    """FQNs that a finding is about: the first of them, how many, and all of them folded, in quotes."""

    first: str
    many: int
    names: str


def alike(faults: Iterable[tuple[str, T]]) -> Iterator[tuple[T, Alike]]:
    """Yield each fault once with the FQNs that have it and differ only in their numbers."""
    groups: dict[tuple[Shape, T], list[str]] = {}
    for fqn, fault in faults:
        groups.setdefault((shape_of(fqn), fault), []).append(fqn)
    for (_, fault), fqns in groups.items():
        names = ", ".join(f"'{name}'" for name in fold(fqns))
        yield fault, Alike(min(fqns, key=natural_key), len(fqns), names)
