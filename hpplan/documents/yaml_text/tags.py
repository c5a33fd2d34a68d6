"""What YAML's tags do to values; of all tags, only those of the core schema are known."""

from __future__ import annotations

from typing import Final

from hpplan.diagnostics import Code
from hpplan.documents.codes import NUMBER_TOO_LARGE, UNKNOWN_TAG, WRONG_TAG
from hpplan.documents.scalars import NumberTooLargeError, Scalar, resolve

Problem = tuple[Code, str, str]
"""Code, message and hint."""

TOO_LARGE: Final[Problem] = NUMBER_TOO_LARGE, "a number that is too large", "quote it if it is a text"

_PREFIX: Final = "tag:yaml.org,2002:"
_TYPES: Final[dict[str, type]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "null": type(None),
    "map": dict,
    "seq": list,
}


def tagged_scalar(tag: str, spelled: str) -> tuple[Scalar, Problem | None]:
    """Return the value of a scalar with a tag, and what is wrong with it.

    `!` alone makes any scalar a string.
    """
    name = _name(tag)
    if tag == "!" or name == "str":
        return spelled, None
    if name is None:
        return spelled, _unknown(tag)
    try:
        value = resolve(spelled)
        if name == "float" and type(value) is int:
            value = float(value)
    except (NumberTooLargeError, OverflowError):
        return None, TOO_LARGE
    return value, None if type(value) is _TYPES[name] else _wrong(name)


def collection_problem(tag: str | None, kind: type) -> Problem | None:
    """Say what is wrong with the tag of a mapping (`dict`) or a list (`list`)."""
    if tag is None or tag == "!":
        return None
    name = _name(tag)
    if name is None:
        return _unknown(tag)
    return None if _TYPES[name] is kind else _wrong(name)


def _name(tag: str) -> str | None:
    name = tag.removeprefix(_PREFIX)
    return name if name != tag and name in _TYPES else None


def _unknown(tag: str) -> Problem:
    return UNKNOWN_TAG, f"the tag {tag.replace(_PREFIX, '!!')} is not known", "remove the tag"


def _wrong(name: str) -> Problem:
    return WRONG_TAG, f"this value is no !!{name}", "correct the value or remove the tag"
