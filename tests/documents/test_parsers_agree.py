"""With and without libyaml the same documents are accepted, with the same data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_junk import PIECES, outcome

from hpplan.documents import yaml_parser
from hpplan.documents.codes import YAML_SYNTAX

# PyYAML's own parser refuses question marks inside plain scalars in brackets.
JUNK = st.lists(st.sampled_from([piece for piece in PIECES if "?" not in piece]), max_size=20)


def both(raw: bytes) -> tuple[Any, Any]:
    """Return what comes out with libyaml and without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_parser, "USE_LIBYAML", True)
        fast = outcome(raw)
        patch.setattr(yaml_parser, "USE_LIBYAML", False)
        return fast, outcome(raw)


@given(JUNK)
@settings(max_examples=500, deadline=None)
@example(["a: 1\t# comment\nb:\t2\nc: x\ty\t\nd: x\n\t y\n"])
@example(["a: [x,\t\n\ty]\n"])
@example(["a: x\n---\n"])
@example(["a: x\n\n\n  y\u2028 z\n"])
def test_parsers_agree(pieces: list[str]) -> None:
    """A document would be fine on one machine and refused, or read as something else, on another."""
    fast, slow = both(("a: " + "".join(pieces)).encode())
    if isinstance(fast, set) and isinstance(slow, set):
        # Before a fault of the syntax, one of the two parsers may have come further than the other.
        assert fast == slow or YAML_SYNTAX.id in fast & slow
    else:
        assert repr(fast) == repr(slow)
