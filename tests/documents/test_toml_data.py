"""TOML: what is wrong with a text, and where the nodes of one that is right are."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from hpplan.diagnostics import Place
from hpplan.documents.source import Sources
from hpplan.documents.toml_data import parse_toml
from hpplan.documents.toml_positions import toml_positions
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.diagnostics import Path

loads = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads

TEXT = """\
# strict = false
strict = true   # [[plans]]
mesh = "dp=2, [cp] # tp"
'quoted key' = 'a "literal" \\ one'
x.y.z = {c = 1, "d e" = [1, 2.5, {f = 1979-05-27T07:32:00.5Z}]}
many = [
  "one",   # ["no"]
  'two',
  [[], [3]],
]
text = \"\"\"
[[plans]]
a = \\"\\"\\" 1
\"\"\"
other = '''it's'''
[tool.hpplan]
files = "a"

[[tool.hpplan.plans]]
files = ["p"]
[tool.hpplan.plans.below]
q = -inf
[[tool.hpplan.plans]]
date = 2020-01-01 10:00:00
[[tool.hpplan.plans.more]]
[[tool.hpplan.plans.more]]
last = 0x_f
""".replace("0x_f", "0xf")


def leaves(data: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield every value that is neither a list nor a table, by path."""
    below = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if below is None:
        yield path, data
    else:
        for key, value in below:
            yield from leaves(value, (*path, key))


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n")], ids=["unix", "dos"])
def test_positions(text: str) -> None:
    """A finding points at another line than the one that is wrong."""
    found = toml_positions(text)
    for path, value in leaves(loads(text)):
        key, start = found[path]
        # What stands there, up to where it can end, is the value itself.
        assert any(reads_as(text[start:stop], value) for stop in range(start + 1, len(text) + 1)), path
        if isinstance(path[-1], str):
            assert text[key:].lstrip("'\"").startswith(path[-1]), path


def reads_as(text: str, value: object) -> bool:
    """Whether a text is a value of TOML, and which."""
    try:
        return bool(loads(f"v = {text}")["v"] == value)
    except ValueError:
        return False


def test_places_that_are_not_there() -> None:
    """What is missing is missing in the table above it."""
    sources = Sources()
    parse_toml(b"a = 1\n[[plans]]\n[[plans]]\nfiles = []\n", "c.toml", sources)
    top = Place("c.toml")
    places = {
        top: (1, 1),
        top.at("plans", 0, "files"): (2, 1),
        top.at("plans", 1, "files", 3): (4, 1),
        top.at("plans", 1, "files"): (4, 9),
        top.key("plans", 1, "files"): (4, 1),
        top.at("nothing"): (1, 1),
    }
    assert sources.positions(places) == places


@pytest.mark.parametrize(
    ("raw", "position"),
    [
        (b"a = 1\nb = plans/*.yaml\n", (2, 5)),
        (b"a = 1\na = 2\n", (2, 6)),
        (b"[plans\n", (1, 7)),
        (b'a = "x', (1, 7)),
        (b"\xef\xbb\xbfa = [", (1, 6)),
        (b"a = " + b"[" * 5000, None),
        (b"a = " + b"9" * 5000, None),
        (b"a = '\xff'", (1, 6)),
    ],
)
def test_what_is_no_toml(raw: bytes, position: tuple[int, int] | None) -> None:
    """A slip in the file that pairs plans with rules ends in a traceback, or points nowhere."""
    sources = Sources()
    with pytest.raises(InvalidInput) as caught:
        parse_toml(raw, "c.toml", sources)
    ((item, at),) = sources.resolve(caught.value.diagnostics)
    assert item.code.id == ("HP001" if b"\xff" in raw else "HP330")
    assert position is None or at == position
    assert item.message
    assert "\n" not in item.message
