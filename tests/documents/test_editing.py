"""Edits of a document's text: what is new is read back, and all else stays as it was.

`python tests/documents/test_editing.py COUNT [FIRST]` tries many more layouts.
"""

from __future__ import annotations

import json
import sys
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from random_layouts import Laid, Maker
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError as RuamelError

from hpplan.documents.editing.editor import edited
from hpplan.documents.reader import parse_document
from hpplan.plan.model import KEY_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from random_layouts import Claim, Path


def plain(data: Any) -> str:  # noqa: ANN401 - any data
    """Spell data so that only what is equal, in its types too, is spelled alike."""
    return json.dumps(data, sort_keys=True)


def alike(old: Any, new: Any) -> bool:  # noqa: ANN401 - any data
    """Whether one can be made of the other member by member."""
    return type(old) is type(new) and (
        isinstance(old, dict) or (isinstance(old, list) and len(old) == len(new))
    )


def holds(claim: Claim, old: Any, new: Any) -> bool:  # noqa: ANN401 - any data
    """Whether what must hold for a line to stay does."""
    what, path = claim
    for key in path:
        if not alike(old, new) or (isinstance(old, dict) and (key not in old or key not in new)):
            return False
        old, new = old[key], new[key]
    return {
        "kept": True,
        "same": plain(old) == plain(new),
        "within": alike(old, new),
        "open": alike(old, new) and bool(new),
    }[what]


def stay(laid: Iterable[tuple[str, list[Claim]]], old: Any, new: Any) -> list[str]:  # noqa: ANN401 - any data
    """Return those lines, or comments, that no edit may touch."""
    return [text for text, claims in laid if all(holds(claim, old, new) for claim in claims)]


def in_order(wanted: list[str], lines: list[str]) -> str | None:
    """Return the first wanted line that the lines do not have behind the one before it."""
    rest = iter(lines)
    return next((line for line in wanted if line not in rest), None)


def in_its_order(old: Any, new: Any) -> Any:  # noqa: ANN401 - any data
    """Return what is new in the old order of keys: new ones in theirs where they are sorted, else last."""
    if not alike(old, new):
        return json.loads(json.dumps(new, sort_keys=True))
    if isinstance(old, list):
        return [in_its_order(*pair) for pair in zip(old, new, strict=True)]
    keys = [*(key for key in old if key in new), *sorted(new.keys() - old.keys())]
    if list(old) == sorted(old):
        keys.sort()
    return {key: in_its_order(old.get(key), new[key]) for key in keys}


def readers(raw: bytes, data: Any, *, slow: bool) -> list[Callable[[bytes], Any]]:  # noqa: ANN401 - any data
    """Return the readers that find the data in a text."""
    found: list[Callable[[bytes], Any]] = [lambda text: parse_document(text, "plan").data]
    candidates = [yaml.safe_load, *([lambda text: YAML(typ="safe", pure=True).load(text)] if slow else [])]
    return found + [reader for reader in candidates if _reads(reader, raw, data)]


def _reads(reader: Callable[[bytes], Any], raw: bytes, data: Any) -> bool:  # noqa: ANN401 - any data
    try:
        return plain(reader(raw)) == plain(data)
    except (yaml.YAMLError, RuamelError, TypeError):
        return False


def try_one(seed: int, *, slow: bool = False) -> str:
    """Edit one random document; return how that went, and fail where something is wrong."""
    random = Random(seed)  # noqa: S311 - layouts, no secrets
    maker = Maker(random, shared=seed % 3 == 0)
    old = maker.plan()
    is_json = seed % 5 == 0
    laid: Laid = maker.json_layout(old) if is_json else maker.yaml_layout(old)
    document = parse_document(laid.raw, "plan")
    assert plain(document.data) == plain(old), (seed, laid.raw.decode())
    assert (
        edited(document.source, document.data, json.loads(json.dumps(old)), KEY_ORDER).text
        == document.source.marked_text
    )
    new = maker.changed(old)
    result = edited(document.source, document.data, new, KEY_ORDER)
    if result.text is None:
        return "whole"
    raw = result.text.encode()
    shown = f"seed {seed}\n{laid.raw.decode()}\n=== {result.notes}\n{result.text}\n=== {json.dumps(new)}"
    for reader in readers(laid.raw, old, slow=slow):
        assert plain(reader(raw)) == plain(new), shown
    if result.notes:
        return "part"
    assert raw.startswith(b"\xef\xbb\xbf") == laid.raw.startswith(b"\xef\xbb\xbf"), shown
    if laid.as_json is not None:
        line_break = "\r\n" if b"\r" in laid.raw else "\n"
        wanted = laid.as_json(in_its_order(document.data, new)).replace("\n", line_break)
        assert result.text.removeprefix("\ufeff").removesuffix(line_break) == wanted, shown
    lines = result.text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    assert in_order(stay(laid.lines, old, new), lines) is None, (
        f"{in_order(stay(laid.lines, old, new), lines)}\n{shown}"
    )
    for comment in stay(laid.comments, old, new):
        assert comment in result.text, f"{comment}\n{shown}"
    return "lines"


class Case(NamedTuple):
    """A text, what changes in it (None takes a key away), and what it is then."""

    before: str
    changes: dict[Path, Any]
    after: str


CASES = {
    "a removed key takes its own comment along and leaves those of its neighbours": Case(
        "c:\n  # moe\n  a: X   # why a\n\n  # b\n  b: Y # why b\nd: 1\n",
        {("c", "a"): None},
        "c:\n  # moe\n\n  # b\n  b: Y # why b\nd: 1\n",
    ),
    "the last key leaves braces": Case(
        "c:  # classes\n  # moe\n  a: X # why\n  b:\n    c: 1\n# d\nd: 1\n",
        {("c", "a"): None, ("c", "b"): None},
        "c: {}  # classes\n  # moe\n# d\nd: 1\n",
    ),
    "a key joins its siblings, before comments that stand out": Case(
        "p:\n    a:\n        b: {tp: R}\n        t: true # yes\n        # in a\n    # c\n    c: {}\n",
        {("p", "a", "t"): False, ("p", "a", "u"): {"x": [1]}, ("p", "c", "s"): True},
        "p:\n    a:\n        b: {tp: R}\n        t: false # yes\n        # in a\n        u: {x: [1]}\n"
        "    # c\n    c: {s: true}\n",
    ),
    "what is new at the top comes last": Case(
        "# head\nx: 1\n# p: 2\n\n# end",
        {("new",): {"passes": ["a"], "stripped": {"b": {"c": "d"}}}},
        "# head\nx: 1\n# p: 2\n\n# end\nnew:\n  passes: [a]\n  stripped:\n    b: {c: d}",
    ),
    "a document that ends with dots": Case("a: 1\n...\n# z\n", {("b",): 2}, "a: 1\nb: 2\n...\n# z\n"),
    "carriage returns": Case("a: 1\r\nb: 2 # b\r\n", {("a",): 2, ("c",): {"d": [{"e": 1}, 2]}}, ""),
    "the first key behind a dash": Case(
        "l:\n  - a: 1 # a\n    b: 2\n  - a: 1\n    # b\n    b: 2\n  - a: 1\n",
        {("l", 0, "a"): None, ("l", 1, "a"): None, ("l", 2, "a"): None},
        "l:\n  - b: 2\n  -\n    # b\n    b: 2\n  - {}\n",
    ),
    "braces in a line": Case(
        "a: {b: 1, c: 2, d: 3}\ne: { f: 1, g: 2 }\nh: {i: 1}\nj: {}\n",
        {
            ("a", "b"): None,
            ("a", "d"): None,
            ("e", "g"): None,
            ("e", "x"): 3,
            ("h", "i"): None,
            ("j", "k"): "no",
        },
        "a: {c: 2}\ne: { f: 1, x: 3 }\nh: {}\nj: {k: 'no'}\n",
    ),
    "braces in several lines": Case(
        "a: {\n  b: 1, # b\n  c: 2, # c\n  d: 3 # d\n}\n",
        {("a", "b"): None, ("a", "d"): None, ("a", "e"): 4},
        "a: {\n  c: 2, # c\n  e: 4\n}\n",
    ),
    "an alias that has to be more than it stands for": Case(
        "m: &m {p: {w: R}, t: true}\na: *m # a\nb: *m\nc: *m\n",
        {("a", "t"): False, ("b", "p"): None},
        "m: &m {p: {w: R}, t: true}\na: {<<: *m, t: false} # a\nb:\n  t: true\nc: *m\n",
    ),
    "an anchor whose aliases have to stay": Case(
        "a: &m\n  t: true # yes\nb: *m\nc: {<<: *m, x: 1}\nd:\n  <<: *m # m\n  t: 0\n",
        {("a", "t"): False},
        "a: &m\n  t: false # yes\nb:\n  t: true\nc: {<<: *m, x: 1, t: true}\nd:\n  <<: *m # m\n  t: 0\n",
    ),
    "an anchor whose aliases change with it": Case(
        "a: &m {t: true}\nb: *m\n", {("a", "t"): False, ("b", "t"): False}, "a: &m {t: false}\nb: *m\n"
    ),
    "aliases that all become the same": Case(
        "a: &m\n  p: {w: R}\n  t: true\nb: *m\nc: [*m, *m]\n",
        {("a", "s"): 1, ("b", "t"): False, ("c", 0, "t"): False},
        "a: &m\n  p: {w: R}\n  s: 1\n  t: true\nb: &m-2\n  p: {w: R}\n  t: false\n"
        "c: [*m-2, {p: {w: R}, t: true}]\n",
    ),
    "an anchor that goes": Case(
        "a: &m A\nb: *m\nc: [*m, &n {x: 1}]\nd: *n\n",
        {("a",): None, ("c",): 1},
        "b: A\nc: 1\nd:\n  x: 1\n",
    ),
    "JSON in a line": Case(
        '{"a":{"b":1,"c":2},"d":{}}',
        {("a", "b"): None, ("d", "e"): [1, {"f": None}], ("z",): False},
        '{"a":{"c":2},"d":{"e":[1,{"f":null}]},"z":false}',
    ),
    "JSON with tabs": Case(
        '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": 2\n\t},\n\t"d": {}\n}\n',
        {("a", "c"): None, ("a", "a"): 0, ("d", "e"): [1]},
        '{\n\t"a": {\n\t\t"a": 0,\n\t\t"b": 1\n\t},\n\t"d": {\n\t\t"e": [\n\t\t\t1\n\t\t]\n\t}\n}\n',
    ),
}
CASES["carriage returns"] = CASES["carriage returns"]._replace(
    after="a: 2\r\nb: 2 # b\r\nc:\n  d:\n    - {e: 1}\n    - 2\n".replace("\r\n", "\n").replace("\n", "\r\n")
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cases(case: Case) -> None:
    """An edit is not the small one that a person would make."""
    document = parse_document(case.before.encode(), "plan")
    new = json.loads(json.dumps(document.data))
    for path, value in case.changes.items():
        node = new
        for key in path[:-1]:
            node = node[key]
        if value is None:
            del node[path[-1]]
        else:
            node[path[-1]] = value
    result = edited(document.source, document.data, new, KEY_ORDER)
    assert (result.text, result.notes) == (case.after, [])


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_random_layouts(first: int) -> None:
    """An edit is read back as something else, or a line or comment that stays is touched."""
    outcomes = [try_one(seed, slow=seed % 10 == 0) for seed in range(first, first + 100)]
    assert outcomes.count("lines") > 80


if __name__ == "__main__":
    count, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally: dict[str, int] = {}
    for number in range(start, start + count):
        outcome = try_one(number, slow=number % 20 == 0)
        tally[outcome] = tally.get(outcome, 0) + 1
    sys.stdout.write(f"{tally}\n")
