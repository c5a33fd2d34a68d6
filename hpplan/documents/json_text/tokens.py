"""A walk over JSON text that knows where it is, for positions and findings."""

from __future__ import annotations

import re
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]  # the stubs lack it

from hpplan.documents.tokens import CLOSE, MAPPING, SCALAR, SEQUENCE, Tokens

# The standard library's scanner finds the end of a node faster than anything here could. What it
# builds on the way is not used, so that numbers of any size stay text.
_SCAN = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).scan_once  # type: ignore[attr-defined]
_TOKEN = re.compile(r'["{}\[\]]|[^\s{}\[\],:"]+')
_OPENING = {"{": MAPPING, "[": SEQUENCE}


def json_tokens(text: str) -> Tokens:
    """Yield the tokens of a text whose syntax is JSON's; recursion is only in what is passed over.

    Keys and texts carry their value, other scalars None. A text that is not
    JSON, or too deep to be passed over, ends the walk where that shows.
    """
    index = 0
    try:
        while (match := _TOKEN.search(text, index)) is not None:
            start = match.start()
            sign = text[start]
            index = match.end()
            if sign in "}]":
                yield CLOSE, start, None
            elif sign in _OPENING:
                if (yield _OPENING[sign], start, None):
                    index = end_of_node(text, start)
            else:
                value = None
                if sign == '"':
                    value, index = scanstring(text, start + 1, True)  # noqa: FBT003 - its one signature
                if (yield SCALAR, start, value):
                    index = _behind(text, index)
    except ValueError:
        return


def end_of_node(text: str, index: int) -> int:
    """Return where the node at an index of a JSON text ends; raise ValueError where none is, or too deep."""
    try:
        end: int = _SCAN(text, index)[1]
    except (StopIteration, RecursionError):
        raise ValueError from None
    return end


def _behind(text: str, index: int) -> int:
    """Return where the next node ends."""
    match = _TOKEN.search(text, index)
    return len(text) if match is None else end_of_node(text, match.start())
