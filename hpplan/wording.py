"""Numbers in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def plural(number: int, one: str, many: str = "") -> str:
    """Spell a number with its noun; `many` is the noun with more than one, where that is not `one` with an s.

    >>> plural(1, "replica"), plural(2048, "rank"), plural(0, "boundary", "boundaries")
    ('1 replica', '2,048 ranks', '0 boundaries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(noun: str, numbers: Sequence[int], most: int = 8) -> str:
    """Spell a noun with the numbers of what it names, the first `most` of them.

    >>> listed("rank", [3]), listed("item", [4, 5, 6], 2)
    ('rank 3', 'items 4, 5, …')
    """
    return f"{noun}{'s' * (len(numbers) != 1)} {some(numbers, most)}"


def some(names: Sequence[object], most: int = 8) -> str:
    """Spell the first `most` names of a list.

    >>> some(["cp", "tp"]), some(["cp", "dp", "tp"], 2)
    ('cp, tp', 'cp, dp, …')
    """
    return ", ".join(map(str, names[:most])) + (", …" if len(names) > most else "")
