"""Which of several ranks is the odd one, when they do not say the same. No torch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def odd_one(said: Sequence[Hashable]) -> tuple[int, int] | None:
    """Return where the first stands that is not as most are, and the first of most; None where all agree.

    Where there is no majority, the first sets the standard.

    >>> odd_one("abbb"), odd_one("ab"), odd_one("aa")
    ((0, 1), (1, 0), None)
    """
    usual, times = Counter(said).most_common(1)[0]
    if times == len(said):
        return None
    if 2 * times <= len(said):
        usual = said[0]
    return next(at for at, one in enumerate(said) if one != usual), said.index(usual)
