"""Every kind of fault in a document's text: its code and its position, with and without libyaml."""

from __future__ import annotations

import pytest

from hpplan.documents import codes
from hpplan.documents.reader import parse_document
from hpplan.documents.source import Sources
from hpplan.documents.writer import dump_json
from hpplan.documents.yaml_text import parser as yaml_parser
from hpplan.errors import InvalidInput

Faults = list[tuple[int, int, str]]

FAULTS: list[tuple[str, bytes, Faults]] = [
    ("nothing at all", b"", [(1, 1, "HP015")]),
    ("nothing but comments", b"# nothing\n\n", [(1, 1, "HP015")]),
    ("nothing but a marker", b"---\n", [(1, 1, "HP015")]),
    ("a byte order mark alone", b"\xef\xbb\xbf", [(1, 1, "HP015")]),
    ("UTF-16", "a: 1".encode("utf-16"), [(1, 1, "HP001")]),
    ("Latin-1 in line 2", "a: 1\nb: \xe4\xe4".encode("latin-1"), [(2, 4, "HP001")]),
    ("bad byte after wide characters", "b: \N{GRINNING FACE}".encode() + b"\xff", [(1, 5, "HP001")]),
    ("a list", b"\n- a\n- b\n", [(2, 1, "HP014")]),
    ("a scalar", b"model.norm\n", [(1, 1, "HP014")]),
    ("null", b"null\n", [(1, 1, "HP014")]),
    ("a JSON list", b" [1, 2]", [(1, 2, "HP014")]),
    ("an empty JSON list", b"[]", [(1, 1, "HP014")]),
    ("duplicate in a block", b"a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 2\n", [(5, 3, "HP004"), (6, 1, "HP004")]),
    ("duplicate in braces", b"{a: {b: 1, b: 2}}", [(1, 12, "HP004")]),
    ("duplicate quoted and plain", b"a: 1\n'a': 2\n\"a\": 3", [(2, 1, "HP004"), (3, 1, "HP004")]),
    ("duplicate in JSON", b'{"a": {"b": 1,\n "b": 2}, "a": 1}', [(2, 2, "HP004"), (2, 11, "HP004")]),
    ("duplicate in JSON by an escape", b'{"a": 1, "\\u0061": 2}', [(1, 10, "HP004")]),
    ("duplicate number", b"destinations: {0: [1], '0': [2]}", [(1, 24, "HP004")]),
    ("duplicate merge", b"a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", [(4, 3, "HP004")]),
    ("number as a key", b"0: a\n", [(1, 1, "HP005")]),
    ("number below another key", b"destinations: {a: {0: [1]}}", [(1, 20, "HP005")]),
    ("fraction below destinations", b"destinations: {0.5: [1]}", [(1, 16, "HP005")]),
    ("boolean below destinations", b"handed_over: {true: [1]}", [(1, 15, "HP005")]),
    ("null as a key", b"~: a\n? \n: b\n", [(1, 1, "HP005"), (2, 2, "HP005")]),
    ("no key in braces", b"a: {?   }\nb: {? : 1}\n", [(1, 9, "HP005"), (2, 7, "HP005")]),
    ("list as a key", b"? [a]\n: b\n", [(1, 3, "HP005")]),
    ("mapping as a key", b"? {a: 1, a: 2}\n: b\n", [(1, 3, "HP005"), (1, 10, "HP004")]),
    ("duplicate below an odd key", b"? [a]\n: {b: 1, b: 2}\n", [(1, 3, "HP005"), (2, 10, "HP004")]),
    ("second document", b"a: 1\n---\nb: 2\n", [(2, 1, "HP006")]),
    ("second document, empty", b"a: 1\n---\n", [(2, 1, "HP006")]),
    ("tag for Python", b"a: !!python/name:os.system x\n", [(1, 4, "HP007")]),
    (
        "tag of one's own",
        b"a: [!x 1, !y {b: 1}, !z [1]]\n",
        [(1, 5, "HP007"), (1, 11, "HP007"), (1, 22, "HP007")],
    ),
    ("timestamp", b"a: !!timestamp 2024-01-02\n", [(1, 4, "HP007")]),
    (
        "tag that does not fit",
        b"a: !!int four\nb: !!map [1]\nc: !!str {}\n",
        [(1, 4, "HP008"), (2, 4, "HP008"), (3, 4, "HP008")],
    ),
    ("mapping tag on a scalar", b"a: !!map b\n", [(1, 4, "HP008")]),
    ("201 levels of JSON", b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", [(1, 206, "HP009")]),
    ("201 levels of YAML", b"a: " + b"[" * 200 + b"]" * 200, [(1, 203, "HP009")]),
    ("300 open brackets", b"[" * 300, [(1, 201, "HP009")]),
    ("5,000 open brackets", b"[" * 5000, [(1, 201, "HP009")]),
    ("5,000 open brackets and a comma too many", b"[" * 5000 + b"," + b"]" * 5000, [(1, 201, "HP009")]),
    (
        "a comma too many behind 300 brackets",
        b'{"b": 1,\n "b": ' + b"[" * 300 + b"1,]",
        [(2, 2, "HP004"), (2, 206, "HP009")],
    ),
    ("2,000 brackets in YAML", b"a: 1\na: 2\nb: " + b"[" * 2000, [(2, 1, "HP004"), (3, 203, "HP009")]),
    ("5,000 brackets behind a duplicate", b"a: 1\na: " + b"[" * 5000, [(2, 203, "HP009")]),
    ("undefined alias", b"a: *b\nc: &b 1\n", [(1, 4, "HP011")]),
    ("alias of itself", b"a: &a\n  b: [*a]\n", [(2, 7, "HP012")]),
    ("merge of itself", b"a: &a\n  <<: *a\n", [(2, 7, "HP012")]),
    ("merge of a scalar", b"a:\n  b: 1\n  <<: x\n", [(3, 3, "HP013")]),
    ("merge of a list of scalars", b"a: {<<: [{b: 1}, x]}\n", [(1, 5, "HP013")]),
    ("NUL", b"a: \x00\n", [(1, 4, "HP016")]),
    ("binary", b"\x7fELF\x02\x01\x01", [(1, 1, "HP016")]),
    ("C1 control", "a: 1\nb: \x80\n".encode(), [(2, 4, "HP016")]),
    ("byte order mark inside", "a: \ufeffb\n".encode(), [(1, 4, "HP016")]),
    ("half a pair in JSON", b'{"a": "\\ud83d", "\\udc00": 1}', [(1, 7, "HP017"), (1, 17, "HP017")]),
    (
        "NaN in JSON",
        b'{"a": [1, NaN, -Infinity],\n"b": Infinity}',
        [(1, 11, "HP018"), (1, 16, "HP018"), (2, 6, "HP018")],
    ),
    (
        "large numbers in JSON",
        b'{"a": 1e999, "b": ' + b"1" * 5000 + b"}",
        [(1, 7, "HP019"), (1, 19, "HP019")],
    ),
    (
        "large numbers in YAML",
        b"a: 1e999\nb: [-1e999, 1e999]\n",
        [(1, 4, "HP019"), (2, 5, "HP019"), (2, 13, "HP019")],
    ),
    ("large tagged number", b"a: !!int 1e999\nb: !!float " + b"1" * 400, [(1, 4, "HP019"), (2, 4, "HP019")]),
    ("JSON cut short", b'{"a": {"b": [1, 2', [(1, 18, "HP003")]),
    ("JSON without a comma", b'{"a": 1 "b": 2}', [(1, 9, "HP003")]),
    ("JSON with text after it", b'{"a": 1} x', [(1, 10, "HP003")]),
    ("JSON cut short after a comma that YAML allows", b'{"a": {"b": 1,}', [(1, 16, "HP003")]),
    ("the same on a later line", b'{\n "a": {"b": 1,},\n "c": [1\n', [(4, 1, "HP003")]),
    ("no quotes after such a comma", b'{\n "a": {"b": 1,},\n "c": d e\n', [(3, 7, "HP003")]),
    ("the wrong bracket after such a comma", b'{"a": [1,}', [(1, 10, "HP003")]),
    ("a text that holds such a comma", b'{"a": ",}", "b": ["\\",]",], [}', [(1, 29, "HP003")]),
    ("a comma that YAML does not allow", b'{"a": [1,,], "b": [,]', [(1, 10, "HP003")]),
    ("such a comma, and what YAML has no room for", b'{"a": "\x7f",}', [(1, 11, "HP003")]),
    ("braces cut short", b"{a: {b: [1, 2", [(1, 14, "HP002")]),
    ("two colons", b"a: b: c\n", [(1, 5, "HP002")]),
    ("wrong indentation", b"a: 1\n b: 2\n", [(2, 3, "HP002")]),
    ("unquoted pattern", b"match: *.mlp\n", [(1, 9, "HP002")]),
    ("tab", b"a:\n\tb: 1\n", [(2, 1, "HP002")]),
    ("open quote", b"a: 'b\n", [(2, 1, "HP002")]),
    ("no such escape", b'a: "C:\\\\dir\\dir"\n', [(1, 12, "HP002")]),
    ("bracket that was never opened", b"a:\n- b\n- ]\n", [(3, 3, "HP002")]),
    ("colon before an indicator", b"a: [b:?c]\n", [(1, 6, "HP002")]),
    ("list item inside brackets", b"a: [- b]\n", [(1, 5, "HP002")]),
    ("no such version", b"%YAML 1.3\n---\na: 1\n", [(1, 1, "HP002")]),
    ("columns after wide characters", "\N{GRINNING FACE}\xe4: {a: b: c}\n".encode(), [(1, 10, "HP002")]),
    ("columns after a byte order mark", b"\xef\xbb\xbfa: b: c\n", [(1, 5, "HP002")]),
    ("lines that end in CR LF", b"a: 1\r\nb: 2\r\nb: 3\r\n", [(3, 1, "HP004")]),
    (
        "a number of 5,000 digits before a bracket too many",
        b'{"a": ' + b"9" * 5000 + b"}}",
        [(1, 5008, "HP003")],
    ),
    ("a number of 5,000 digits before a colon", b'{"a": ' + b"9" * 5000 + b": 1}", [(1, 5007, "HP003")]),
    (
        "a number of 5,000 digits in JSON that is whole",
        b'{"a": 1,\n"b": ' + b"9" * 5000 + b"}",
        [(2, 6, "HP019")],
    ),
    (
        "negative numbers of 4,300 and of 4,301 digits",
        b'{"a": -' + b"9" * 4300 + b',\n"b": -' + b"9" * 4301 + b"}",
        [(2, 6, "HP019")],
    ),
    ("NaN in JSON with a comma too many", b'{"x": NaN,}', [(1, 7, "HP018")]),
    (
        "infinities and half a pair in JSON with commas too many",
        b'{"x": [Infinity, "a",],\n"y": -Infinity, "z": 1,\n}',
        [(1, 8, "HP018"), (2, 6, "HP018")],
    ),
    ("lines that end in CR", b"a: 1\rb: 2\rb: 3\r", [(3, 1, "HP004")]),
    ("line separators are not line ends", "a: 'x\u2028\u2029\x85y'\na: 1\n".encode(), [(2, 1, "HP004")]),
]


def _faults(raw: bytes) -> Faults:
    sources = Sources()
    with pytest.raises(InvalidInput) as caught:
        parse_document(raw, "plan.yaml", sources)
    return [(*position, item.code.id) for item, position in sources.resolve(caught.value.diagnostics)]


@pytest.mark.parametrize("libyaml", [True, False], ids=["libyaml", "pure"])
@pytest.mark.parametrize(("raw", "faults"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_fault(raw: bytes, faults: Faults, libyaml: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken document would be accepted, or the finding would point elsewhere."""
    monkeypatch.setattr(yaml_parser, "USE_LIBYAML", libyaml)
    if libyaml:
        assert _faults(raw) == faults
    else:
        # PyYAML's own parser may stop some columns further on.
        assert [(line, code) for line, _, code in _faults(raw)] == [(line, code) for line, _, code in faults]


def test_every_code_has_a_case() -> None:
    """A code would be documented that nothing ever reports."""
    covered = {fault[2] for _, _, faults in FAULTS for fault in faults} | {codes.TOO_MANY_NODES.id}
    assert covered == {code.id for code in codes.CODES}


@pytest.mark.parametrize("code", codes.CODES, ids=lambda code: code.id)
def test_code_is_documented(code: codes.Code) -> None:
    """`hpplan explain` would lack one of its sections."""
    headings = [line for line in code.doc.splitlines() if line.startswith("#")]
    assert headings == ["## What it finds", "## Why it hurts", "## Example", "## What to do"]
    assert code.id.startswith("HP0")
    assert code.name == code.name.lower().replace("_", "-")


def test_code_ids_are_unique() -> None:
    """Two kinds of faults would share an id."""
    assert (
        len({code.id for code in codes.CODES}) == len({code.name for code in codes.CODES}) == len(codes.CODES)
    )


def test_everything_is_reported_before_a_syntax_fault() -> None:
    """A second run would be needed to see what was found before the parser gave up."""
    assert _faults(b"a: 1\na: 2\nb: [\n") == [(2, 1, "HP004"), (4, 1, "HP002")]


def test_duplicates_name_the_first_one() -> None:
    """The finding would not say where the other key is."""
    for raw in (b"x: {b: 1}\na:\n  b: 1\n  b: 2\n", b'{"x": {"b": 1},\n"a":{\n  "b": 1,\n  "b": 2}}'):
        sources = Sources()
        with pytest.raises(InvalidInput) as caught:
            parse_document(raw, "plan.yaml", sources)
        (finding,) = caught.value.diagnostics
        assert sources.positions(finding.related)[finding.related[0]] == (3, 3)
        assert finding.place.path == ("a", "b")


@pytest.mark.parametrize("libyaml", [True, False], ids=["libyaml", "pure"])
def test_duplicates_below_duplicates_name_the_first_one(
    libyaml: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first key of the same name would be looked for below another parent than the second one's."""
    monkeypatch.setattr(yaml_parser, "USE_LIBYAML", libyaml)
    raw = b"""\
a:
  b: 1
a:
  ? [b]
  : {b: 0}
  b: 2
  <<: {c: 1}
  &k b: 3
  <<: {d: 1}
  *k : 4
destinations: {0: [1]}
destinations: {00: [2], 0: [3], '0': [4]}
"""
    sources = Sources()
    with pytest.raises(InvalidInput) as caught:
        parse_document(raw, "plan.yaml", sources)
    found = [
        (*position, *sources.positions(item.related)[item.related[0]])
        for item, position in sources.resolve(caught.value.diagnostics)
        if item.code is codes.DUPLICATE_KEY
    ]
    assert found == [
        (3, 1, 1, 1),
        (8, 3, 6, 3),
        (9, 3, 7, 3),
        (10, 3, 6, 3),
        (12, 1, 11, 1),
        (12, 25, 12, 16),
        (12, 33, 12, 16),
    ]


def test_json_output_refuses_what_json_lacks() -> None:
    """A written file would not be JSON."""
    with pytest.raises(InvalidInput) as caught:
        dump_json({"a": [1.0, float("nan")], "b": float("-inf")})
    assert [(item.code.id, item.place.path) for item in caught.value.diagnostics] == [
        ("HP018", ("a", 1)),
        ("HP018", ("b",)),
    ]
