"""Plain scalars follow the YAML 1.2 core schema."""

from __future__ import annotations

import math

import pytest

from hpplan.documents.scalars import NumberTooLargeError, resolve

VALUES = [
    ("", None),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("nUll", "nUll"),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    ("yes", "yes"),
    ("no", "no"),
    ("on", "on"),
    ("Off", "Off"),
    ("y", "y"),
    ("0", 0),
    ("-0", 0),
    ("+12", 12),
    ("-19", -19),
    ("0123", 123),
    ("0o17", 15),
    ("0o18", "0o18"),
    ("-0o17", "-0o17"),
    ("0xfF", 255),
    ("0xg", "0xg"),
    ("0b11", "0b11"),
    ("1_000", "1_000"),
    ("1:30", "1:30"),
    ("2024-01-02", "2024-01-02"),
    ("1e5", 100000.0),
    ("1E+5", 100000.0),
    ("12e-1", 1.2),
    ("0.5", 0.5),
    (".5", 0.5),
    ("5.", 5.0),
    ("-.5", -0.5),
    (".", "."),
    ("-", "-"),
    ("+", "+"),
    ("e5", "e5"),
    ("1e", "1e"),
    (".inf", math.inf),
    ("+.Inf", math.inf),
    ("-.INF", -math.inf),
    ("inf", "inf"),
    ("nan", "nan"),
    ("model.norm", "model.norm"),
    ("S(0)", "S(0)"),
    ("<<", "<<"),
    ("=", "="),
    ("\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT ONE}"),
    ("1\N{ARABIC-INDIC DIGIT ONE}", "1\N{ARABIC-INDIC DIGIT ONE}"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_plain_scalar(text: str, value: object) -> None:
    """A plan would say something else here than to a YAML 1.2 reader."""
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number(text: str) -> None:
    """NaN would be read as a text."""
    found = resolve(text)
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "text", ["1" * 4301, "-" + "9" * 5000, "0x" + "f" * 4000, "0o" + "7" * 5000, "1e999", "-1e999"]
)
def test_numbers_that_do_not_fit(text: str) -> None:
    """A number would silently become infinite, or take quadratic time."""
    with pytest.raises(NumberTooLargeError):
        resolve(text)


def test_largest_number() -> None:
    """A number would be refused that Python can both read and print."""
    assert resolve("9" * 4300) == 10**4300 - 1
