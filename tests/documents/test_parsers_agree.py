"""Without libyaml some documents are refused, and none is read as something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_junk import PIECES, outcome

from hpplan.documents.codes import YAML_SYNTAX
from hpplan.documents.yaml_text import parser as yaml_parser

if TYPE_CHECKING:
    from pathlib import Path

JUNK = st.lists(st.sampled_from(PIECES), max_size=20)
SIGNS = [*"?:#-,'\"[]{}|>&*!%@`~ab1 ", ": ", "? ", " #", "- ", "\n", "\n  "]
SIGNS += ["\t", "\r\n ", "\ufeff", "\u2028"]
FLOW = st.lists(st.sampled_from(SIGNS), min_size=1, max_size=8).map("".join)
FRAMES = ["a: [{0}, {1}]", "a: {{{0}: {1}}}", "{{{0}, b: [{1}]}}", "a: '{0}'\nb: {1}", 'a: "{0}"\nb:\n- {1}']


def both(raw: bytes) -> tuple[Any, Any]:
    """Return what comes out with libyaml and without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_parser, "USE_LIBYAML", True)
        fast = outcome(raw)
        patch.setattr(yaml_parser, "USE_LIBYAML", False)
        return fast, outcome(raw)


@given(JUNK)
@settings(max_examples=500)
@example(["a: 1\t# comment\nb:\t2\nc: x\ty\t\nd: x\n\t y\n"])
@example(["a: [x,\t\n\ty]\n"])
@example(["a: x\n---\n"])
@example(["a: x\n\n\n  y\u2028 z\n"])
def test_parsers_agree(pieces: list[str]) -> None:
    """A document would be fine on one machine and refused, or read as something else, on another."""
    check("a: " + "".join(pieces))


@pytest.mark.slow
@given(st.sampled_from(FRAMES), FLOW, FLOW)
@settings(max_examples=1000)
@example("a: [{0}, {1}]", "x?y", "x ?")
@example("a: {{{0}: {1}}}", "*.layers.?", "?x")
@example("a: [{0}, {1}]", "x::", "a:?")
@example("a: [{0}, {1}]", "!", "!!str")
@example("a: {{{0}: {1}}}", "b", "!!str\tc")
@example("a: {{{0}: {1}}}", "b", "!!s%74r 1")
@example("a: '{0}'\nb: {1}", "\t\n\t", ">#c\n")
@example("a: '{0}'\nb: {1}", "", "|\t# c\n  d\n\t")
@example("a: '{0}'\nb: {1}", "", "|+2\n   d\n \n")
@example("a: '{0}'\nb: {1}", "", "|0\n d\n")
@example("a: '{0}'\nb: {1}", "", ">-\n \n  \td\n")
def test_parsers_agree_about_scalars(frame: str, first: str, second: str) -> None:
    """A scalar with a sign in it would be fine on one machine and refused, or read otherwise, on another."""
    check(frame.format(first, second))


def check(text: str) -> None:
    """Compare what comes out with libyaml and without it; each takes a few texts that the other refuses."""
    fast, slow = both(text.encode())
    refused = [one for one in (fast, slow) if isinstance(one, set)]
    assert repr(fast) == repr(slow) or any(YAML_SYNTAX.id in codes for codes in refused)


@pytest.mark.slow
def test_real_documents_are_read_alike(root: Path) -> None:
    """What people write would be refused on a machine without libyaml."""
    files = sorted((root / "sample_plans").rglob("*.yaml"))
    assert len(files) > 20
    for file in files:
        fast, slow = both(file.read_bytes())
        assert repr(fast) == repr(slow), file.name
