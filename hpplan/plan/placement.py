"""Placements: how one axis of the mesh lays out one tensor."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.plan.codes import MALFORMED_PLACEMENT
from hpplan.shapes.shape import text, told

PLACEMENT_PATTERN = (
    r"^(R|P\([^()\s]+\)|S\((0|-?[1-9][0-9]{0,8})\)|SS\((0|-?[1-9][0-9]{0,8}),[1-9][0-9]{0,8}\))$"
)
"""The whole spelling of a placement, in the syntax that Python, Rust and ECMA 262 share."""

_FORM = re.compile(
    r"(?P<replicate>R)"
    r"|P\((?P<op>[^()\s]+)\)"
    r"|S\((?P<shard>0|-?[1-9][0-9]{0,8})\)"
    r"|SS\((?P<strided>0|-?[1-9][0-9]{0,8}),(?P<factor>[1-9][0-9]{0,8})\)"
)


class Placement(NamedTuple):
    """One parsed placement.

    `dim` is the tensor dimension that `S(d)` and `SS(d,f)` split, already
    turned from `-d-1` into `d` where the split is `uneven`.
    """

    kind: Literal["R", "P", "S", "SS"]
    op: str | None = None
    dim: int | None = None
    factor: int | None = None
    uneven: bool = False


REPLICATE = Placement("R")
"""What an axis that a placement mapping leaves out means."""


@lru_cache(maxsize=4096)
def parse_placement(text: str) -> Placement:
    """Parse `R`, `P(op)`, `S(d)` or `SS(d,f)`; raise ValueError for anything else.

    >>> parse_placement("S(-1)")
    Placement(kind='S', op=None, dim=0, factor=None, uneven=True)
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{text!r} is no placement")
    if form["replicate"]:
        return REPLICATE
    if form["op"]:
        return Placement("P", op=form["op"])
    written = int(form["shard"] or form["strided"])
    uneven = written < 0
    dim = -written - 1 if uneven else written
    if form["factor"]:
        return Placement("SS", dim=dim, factor=int(form["factor"]), uneven=uneven)
    return Placement("S", dim=dim, uneven=uneven)


def _no_placement(name: str, text: str, place: Place) -> Diagnostic:
    message = f"{text!r} on axis {name} is no placement"
    return Diagnostic(MALFORMED_PLACEMENT, message, place, _hint(text))


def _hint(text: str) -> str:
    bare = "".join(text.split())
    guess = {"Replicate": "R", "Replicate()": "R", "r": "R", "replicate": "R", "Partial": "P(sum)"}.get(bare)
    if guess is None:
        for long, short in (("Shard(", "S("), ("StridedShard(", "SS("), ("Partial(", "P("), ("s(", "S(")):
            if bare.startswith(long):
                guess = short + bare[len(long) :]
    if guess is None and bare != text:
        guess = bare
    forms = "write R, P(op), S(d) or SS(d,f)"
    return f"did you mean '{guess}'? {forms}" if guess and _FORM.fullmatch(guess) else forms


PLACEMENT = told(text(pattern=PLACEMENT_PATTERN), string_pattern_mismatch=_no_placement)
"""The type of a placement in a document."""
