"""Prose on a terminal: broken at blanks alone, so that names and figures stay whole."""

from __future__ import annotations

import re
from typing import Final

_BEFORE_UNIT: Final = re.compile(r"(?<=[0-9]) (?=(?:[kMGTP]?B|[um]?s|GB/s)\b)")
"""A blank that belongs to a figure."""


def fold(text: str, width: int, first: str = "", indent: str | None = None) -> str:
    """Return text in lines of at most `width` columns, as far as its words allow.

    `first` stands before the first line, `indent` (else as many blanks) before the others.

    >>> print(fold("sent 7.6 MB in all", 11, "rank 3  "))
    rank 3  sent
            7.6 MB
            in all
    """
    from textwrap import wrap

    lines = wrap(
        _BEFORE_UNIT.sub("\xa0", text),
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first) if indent is None else indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\xa0", " ") or first
