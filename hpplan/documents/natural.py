"""The order in which people expect names with numbers in them."""

from __future__ import annotations

import re
from typing import Final

_DIGITS: Final = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[str | tuple[int, str], ...], str]


def natural_key(text: str) -> NaturalKey:
    """Return a sort key that puts `layers.2` before `layers.10`.

    >>> sorted(["layers.10", "layers.2", "layers.02"], key=natural_key)
    ['layers.02', 'layers.2', 'layers.10']
    """
    parts: list[str | tuple[int, str]] = list(_DIGITS.split(text))
    for index in range(1, len(parts), 2):
        digits = str(parts[index]).lstrip("0")
        # Longer is larger; turning thousands of digits into an int would be slow or refused.
        parts[index] = (len(digits), digits)
    return tuple(parts), text
