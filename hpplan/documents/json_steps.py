"""A walk over JSON text that knows where it is, for positions and findings."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs lack it
from typing import TYPE_CHECKING

from hpplan.documents.steps import CLOSE, MAPPING, SCALAR, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.documents.steps import Step

_TOKEN = re.compile(r'["{}\[\]]|[^\s{}\[\],:"]+')
_OPENING = {"{": MAPPING, "[": SEQUENCE}


def json_steps(text: str) -> Iterator[Step]:
    """Yield the steps of a text whose syntax is JSON's, without recursion.

    Keys and texts carry their value, other scalars None. A text that is not
    JSON ends the walk where that shows.
    """
    index = 0
    while True:
        found = _TOKEN.search(text, index)
        if found is None:
            return
        start = found.start()
        sign = text[start]
        index = found.end()
        if sign == '"':
            try:
                value, index = scanstring(text, start + 1, True)  # noqa: FBT003 - its one signature
            except ValueError:
                return
            yield SCALAR, start, value
        elif sign in _OPENING:
            yield _OPENING[sign], start, None
        elif sign in "}]":
            yield CLOSE, start, None
        else:
            yield SCALAR, start, None
