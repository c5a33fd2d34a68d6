"""Folding FQNs that differ only in numbers: `model.layers.{3..60}.mlp`."""

from __future__ import annotations

from collections.abc import Iterable

from hpplan.documents.natural import NaturalKey, natural_key

Shape = tuple[str | None, ...]
"""The parts of a name, with None for each number."""

_Numbers = tuple[str, ...]


def fold(names: Iterable[str]) -> list[str]:
    """Return patterns that stand for exactly the given names, in natural order.

    Ranges are written `{0..2}`, other sets `{0,2..4}`; a name whose numbers
    nothing else shares stays as it is.

    >>> fold(["layers.3.mlp", "layers.4.mlp", "layers.5.mlp", "norm"])
    ['layers.{3..5}.mlp', 'norm']
    """
    by_shape: dict[Shape, set[_Numbers]] = {}
    for name in names:
        shape = shape_of(name)
        parts = zip(shape, name.split("."), strict=True)
        by_shape.setdefault(shape, set()).add(tuple(part for known, part in parts if known is None))
    folded = [
        ".".join(_filled(shape, sets)) for shape, numbers in by_shape.items() for sets in _boxes(numbers)
    ]
    return sorted(folded, key=folded_key)


def shape_of(name: str) -> Shape:
    """Return what names have in common that differ only in numbers."""
    parts = name.split(".")
    # A box is made of others with a number less.
    foldable = sum(map(_is_number, parts)) <= _MOST_NUMBERS
    return tuple(None if foldable and _is_number(part) else part for part in parts)


def folded_key(pattern: str) -> NaturalKey:
    """Return a sort key that puts a folded name where the first of its names would be."""
    return natural_key(pattern.replace("{", ""))


def _is_number(part: str) -> bool:
    # A part such as `007` is a name, as a number would lose its zeros.
    return part.isascii() and part.isdigit() and (part == "0" or part[0] != "0")


def _boxes(numbers: set[_Numbers]) -> list[tuple[frozenset[str], ...]]:
    """Return products of sets that together are the given tuples, each in one product only."""
    if () in numbers:
        return [()]
    below: dict[str, set[_Numbers]] = {}
    for first, *rest in numbers:
        below.setdefault(first, set()).add(tuple(rest))
    alike: dict[frozenset[_Numbers], set[str]] = {}
    for first, rests in below.items():
        alike.setdefault(frozenset(rests), set()).add(first)
    return [(frozenset(firsts), *box) for rests, firsts in alike.items() for box in _boxes(set(rests))]


def _filled(shape: Shape, sets: tuple[frozenset[str], ...]) -> list[str]:
    left = iter(sets)
    return [_spelled(next(left)) if part is None else part for part in shape]


def _spelled(numbers: frozenset[str]) -> str:
    """Spell a set of numbers: `7`, `{0..2}`, `{0,2..4}`."""
    ordered = sorted(map(int, numbers)) if max(map(len, numbers)) < _LONGEST else []
    if not ordered:
        return "{" + ",".join(sorted(numbers, key=natural_key)) + "}" if len(numbers) > 1 else min(numbers)
    if len(ordered) == 1:
        return str(ordered[0])
    runs: list[list[int]] = []
    for number in ordered:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return "{" + ",".join(_run(run) for run in runs) + "}"


_MOST_NUMBERS = 20
"""Numbers in a name that is folded; no module has as many."""

_LONGEST = 18
"""Digits of a number that is treated as one; turning thousands of digits into an int would be refused."""


def _run(run: list[int]) -> str:
    joined = ".." if len(run) > 2 else ","  # noqa: PLR2004 - two numbers are shorter than a range
    return f"{run[0]}{joined}{run[-1]}" if len(run) > 1 else str(run[0])
