"""What a pass did and why."""

from __future__ import annotations

from typing import Any, NamedTuple


class Did(NamedTuple):
    """What a pass does to a module, for counts of it: `2 boundaries stripped`, `1 marked`."""

    verb: str
    past: str
    nouns: tuple[str, str] = ("", "")
    """What it is done to, one and several; empty where that is the module itself."""


class Cause(NamedTuple):
    """Why a boundary goes, or a mark comes; all changes with one reason share one.

    `did` is what the pass of that name does. `why` is a sentence. `pattern`
    is what matched: a pattern of the rule, a strip pattern of its strategy, or
    a class name. `rule` is the target of the inline rule, if one is the cause.
    `below` is the EP target that owns the module, for modules below one.
    """

    pass_name: str
    did: Did
    why: str
    pattern: str
    rule: str | None = None
    below: str | None = None


class Change(NamedTuple):
    """One field of one FQN that a pass changed; None stands for a field that is not there.

    `field` is a field of the entry, or `boundary_classes` for the FQN's class.
    """

    fqn: str
    field: str
    before: Any
    after: Any
    cause: Cause
