"""The nearest name to one that names nothing, for hints."""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SEARCHES = 20
"""How many FQNs of one kind are looked up: a plan with more mistakes than that has a systematic one."""


def nearest_field(name: str, fields: Iterable[str]) -> str | None:
    """Return the field that a mistyped one most likely stands for."""
    found = get_close_matches(name, list(fields), n=1, cutoff=0.6)
    return found[0] if found else None


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
        if self._left < 0:
            return None
        if self._parts is None:
            self._parts = [name.split(".") for name in self._names]
        wanted = fqn.split(".")
        near = [parts for parts in self._parts if _differences(parts, wanted) <= 1]
        if not near:
            return None
        best = max(near, key=lambda parts: (_likeness(parts, wanted), [-len(part) for part in parts]))
        return f"did you mean '{'.'.join(best)}'?" if _likeness(best, wanted) > _UNLIKE else None


_UNLIKE = 0.6


def _differences(parts: Sequence[str], wanted: Sequence[str]) -> int:
    if len(parts) == len(wanted):
        return sum(one != other for one, other in zip(parts, wanted, strict=True))
    if abs(len(parts) - len(wanted)) != 1:
        return len(wanted) + 1
    # One part too many or too few: the rest must be the same.
    longer, shorter = (parts, wanted) if len(parts) > len(wanted) else (wanted, parts)
    same = next((at for at, part in enumerate(shorter) if part != longer[at]), len(shorter))
    return 1 if list(longer[same + 1 :]) == list(shorter[same:]) else len(wanted) + 1


def _likeness(parts: Sequence[str], wanted: Sequence[str]) -> float:
    return SequenceMatcher(None, ".".join(parts), ".".join(wanted)).ratio()
