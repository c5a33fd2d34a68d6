"""A walk over JSON text that knows where it is, for positions and findings."""

from __future__ import annotations

import re
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]  # the stubs lack it
from typing import TYPE_CHECKING

from hpplan.documents.steps import CLOSE, MAPPING, SCALAR, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hpplan.documents.steps import Steps

_TOKEN = re.compile(r'["{}\[\]]|[^\s{}\[\],:"]+')
_OPENING = {"{": MAPPING, "[": SEQUENCE}


def json_steps(text: str) -> Steps:
    """Yield the steps of a text whose syntax is JSON's; recursion is only in what is passed over.

    Keys and texts carry their value, other scalars None. A text that is not
    JSON, or too deep to be passed over, ends the walk where that shows.
    """
    # The standard library's scanner finds the end of a node faster than anything here could. What it
    # builds on the way is not used, so that numbers of any size stay text.
    scan = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).scan_once  # type: ignore[attr-defined]
    index = 0
    try:
        while (found := _TOKEN.search(text, index)) is not None:
            start = found.start()
            sign = text[start]
            index = found.end()
            if sign in "}]":
                yield CLOSE, start, None
            elif sign in _OPENING:
                if (yield _OPENING[sign], start, None):
                    index = scan(text, start)[1]
            else:
                value = None
                if sign == '"':
                    value, index = scanstring(text, start + 1, True)  # noqa: FBT003 - its one signature
                if (yield SCALAR, start, value):
                    index = _behind(scan, text, index)
    except (ValueError, StopIteration, RecursionError):
        return


def _behind(scan: Callable[[str, int], tuple[Any, int]], text: str, index: int) -> int:
    """Return where the next node ends."""
    found = _TOKEN.search(text, index)
    return len(text) if found is None else scan(text, found.start())[1]
