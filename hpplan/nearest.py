"""The nearest name to one that names nothing, for hints."""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

SEARCHES = 20
"""How many names of one kind are looked up: a plan with more mistakes than that has a systematic one."""

_MOST = 500
"""Names that are compared with a wrong one; among more of them many are near."""

_LONGEST = 100
"""Characters of a name that somebody typed; to compare longer ones takes long."""

_LIKE = 0.6
"""Likeness, from 0 to 1, to a name that was most likely meant."""


def nearest_name(name: str, names: Collection[str], like: float = _LIKE) -> str | None:
    """Return the name that a mistyped one most likely stands for."""
    return _nearest(name, tuple(names), like) if len(name) <= _LONGEST and len(names) <= _MOST else None


def none_of(value: str, known: Iterable[str]) -> str:
    """Say that a value is none of the known names, and which of them is nearest."""
    names = list(known)
    near = nearest_name(value, names)
    ask = f"; did you mean '{near}'?" if near else ""
    return f"'{value}' is none of {', '.join(names)}{ask}"


@lru_cache(maxsize=1024)
def _nearest(name: str, names: tuple[str, ...], like: float) -> str | None:
    near = get_close_matches(name, names, n=1, cutoff=like)
    return near[0] if near else None


class NearestNames:
    """Does so where a document says which names there are; gives up after a few names."""

    def __init__(self) -> None:
        """Start without a search."""
        self._asked: set[str] = set()

    def of(self, name: str, names: Collection[str], like: float = _LIKE) -> str | None:
        """Return the name that a mistyped one most likely stands for."""
        if name not in self._asked and len(self._asked) == SEARCHES:
            return None
        self._asked.add(name)
        return nearest_name(name, names, like)


class NearestFqn:
    """Finds FQNs that differ from a wrong one in a single part; gives up after a few searches."""

    def __init__(self, names: Iterable[str]) -> None:
        """Remember the names; nothing is done with them before the first search."""
        self._names = names
        self._parts: list[list[str]] | None = None
        self._left = SEARCHES

    def hint(self, fqn: str) -> str | None:
        """Return `did you mean …?`, or None where nothing is near."""
        self._left -= 1
        if self._left < 0 or len(fqn) > _LONGEST:
            return None
        if self._parts is None:
            self._parts = [name.split(".") for name in self._names]
        wanted = fqn.split(".")
        near = [parts for parts in self._parts if _differences(parts, wanted) <= 1]
        if not near or len(near) > _MOST:
            return None
        best = max(near, key=lambda parts: (_likeness(parts, wanted), [-len(part) for part in parts]))
        return f"did you mean '{'.'.join(best)}'?" if _likeness(best, wanted) > _LIKE else None


def _differences(parts: Sequence[str], wanted: Sequence[str]) -> int:
    if len(parts) == len(wanted):
        return sum(part != other for part, other in zip(parts, wanted, strict=True))
    if abs(len(parts) - len(wanted)) != 1:
        return len(wanted) + 1
    # One part too many or too few: the rest must be the same.
    longer, shorter = (parts, wanted) if len(parts) > len(wanted) else (wanted, parts)
    same = next((at for at, part in enumerate(shorter) if part != longer[at]), len(shorter))
    return 1 if list(longer[same + 1 :]) == list(shorter[same:]) else len(wanted) + 1


def _likeness(parts: Sequence[str], wanted: Sequence[str]) -> float:
    return SequenceMatcher(None, ".".join(parts), ".".join(wanted)).ratio()
