"""What a plain scalar means in the YAML 1.2 core schema."""

from __future__ import annotations

import re
from typing import Any, Final

Data = Any
"""Dicts with string keys, lists and scalars, as a document holds them."""

Scalar = str | int | float | bool | None

MAX_DIGITS: Final = 4300
"""Digits of the longest whole number; Python itself prints no longer ones."""

_CONSTANTS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_MAY_BE_NUMBER: Final = frozenset("+-.0123456789")
# Compiled when first needed: few plans hold any of them.
_DECIMAL: Final = r"[-+]?[0-9]+"
_OCTAL: Final = r"0o[0-7]+"
_HEXADECIMAL: Final = r"0x[0-9a-fA-F]+"
_FLOAT: Final = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_LARGEST: Final = 10**MAX_DIGITS


class NumberTooLargeError(ValueError):
    """A plain scalar is a number that no int or float of ours holds."""


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar.

    >>> resolve("no"), resolve("1:30"), resolve("1e5"), resolve("0o17"), resolve("~")
    ('no', '1:30', 100000.0, 15, None)

    Raises NumberTooLargeError for whole numbers of more than 4,300 digits
    and for fractions that would become infinite.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if re.fullmatch(_DECIMAL, text):
        try:
            return int(text)
        except ValueError:
            raise NumberTooLargeError from None
    for pattern, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
        if re.fullmatch(pattern, text):
            number = int(text, base)
            if number >= _LARGEST:
                raise NumberTooLargeError
            return number
    if re.fullmatch(_FLOAT, text):
        fraction = float(text)
        if fraction in {float("inf"), float("-inf")}:
            raise NumberTooLargeError
        return fraction
    return text


class PlainScalars(dict[str, Scalar]):
    """Values of plain scalars, each worked out once.

    A number that is too large becomes None and is remembered in `too_large`.
    """

    def __init__(self) -> None:
        """Start without values."""
        super().__init__()
        self.too_large: set[str] = set()

    def __missing__(self, text: str) -> Scalar:
        """Work out a value that was not asked for before."""
        try:
            value = resolve(text)
        except NumberTooLargeError:
            self.too_large.add(text)
            value = None
        self[text] = value
        return value
