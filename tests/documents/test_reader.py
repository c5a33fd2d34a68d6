"""What documents are read as."""

from __future__ import annotations

import contextlib
import gc
import json
from typing import Any

import pytest

from hpplan.documents.reader import parse_document
from hpplan.documents.yaml_text import parser as yaml_parser
from hpplan.errors import InvalidInput

ACCEPTED: list[tuple[str, bytes, dict[str, Any]]] = [
    ("JSON", b' {"a": [1, 2.5, null, true, "x"]}\n', {"a": [1, 2.5, None, True, "x"]}),
    ("empty mappings", b"{}", {}),
    ("flow that is no JSON", b"{a: 1, 'b': [x, y]}", {"a": 1, "b": ["x", "y"]}),
    ("JSON with a comma too many is YAML", b'{"a": [1, 2,],}', {"a": [1, 2]}),
    ("JSON with a comment is YAML", b'{"a": 1 # one\n}', {"a": 1}),
    ("byte order mark", b"\xef\xbb\xbfa: 1", {"a": 1}),
    ("byte order mark and JSON", b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    ("CR LF", b"a: 1\r\nb:\r\n  - x\r\n", {"a": 1, "b": ["x"]}),
    ("markers around one document", b"%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
    ("quoted scalars are texts", b"a: '1'\nb: \"null\"\n'true': x\n", {"a": "1", "b": "null", "true": "x"}),
    ("block texts", b"a: |\n  1\n  2\nb: >-\n  x\n  y\n", {"a": "1\n2\n", "b": "x y"}),
    ("nothing is null", b"a:\nb: [~, null]\n", {"a": None, "b": [None, None]}),
    (
        "alias",
        b"a: &x {k: [1]}\nb: *x\nc: [*x, &y z, *y]\n",
        {"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}, "z", "z"]},
    ),
    ("alias as a key", b"a: &x k\nb: {*x : 1}\n", {"a": "k", "b": {"k": 1}}),
    ("anchor given again", b"a: &x 1\nb: *x\nc: &x [2]\nd: *x\n", {"a": 1, "b": 1, "c": [2], "d": [2]}),
    ("inner anchor of the same name", b"a: &x [&x 1, *x]\nb: *x\n", {"a": [1, 1], "b": 1}),
    ("merge", b"a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\n", {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}}),
    ("merge after the keys", b"a: &a {x: 1}\nb: {x: 2, <<: *a}\n", {"a": {"x": 1}, "b": {"x": 2}}),
    ("merge of an inline mapping", b"b: {<<: {x: 1}, z: 2}\n", {"b": {"x": 1, "z": 2}}),
    ("earlier merges win", b"b: {<<: [{x: 1}, {x: 2, y: 3}]}\n", {"b": {"x": 1, "y": 3}}),
    ("merge of nothing", b"b: {<<: [], z: 2}\n", {"b": {"z": 2}}),
    ("quoted merge key is a key", b"b: {'<<': 1}\nc: {\"<<\": 2}\n", {"b": {"<<": 1}, "c": {"<<": 2}}),
    ("merge sign as a value", b"a: <<\nb: [<<]\n", {"a": "<<", "b": ["<<"]}),
    (
        "core tags",
        b"{a: !!str 1, b: !!int '2', c: !!float 3, d: !!bool 'true', e: !!null '', f: !!map {}, g: ! 12}",
        {"a": "1", "b": 2, "c": 3.0, "d": True, "e": None, "f": {}, "g": "12"},
    ),
    ("tagged key", b"!!str 1: x\n", {"1": "x"}),
    (
        "numbers as keys",
        b"destinations: {0: [1], 0x10: [2]}\nhanded_over:\n  7: []\n",
        {"destinations": {"0": [1], "16": [2]}, "handed_over": {"7": []}},
    ),
    ("200 levels", b"a: " + b"[" * 199 + b"]" * 199, {}),
    ("200 levels of JSON", b'{"a": ' + b"[" * 199 + b"]" * 199 + b"}", {}),
    ("escapes", b'a: "\\x41\\u00e4\\U0001F600\\n\\0"\n', {"a": "A\xe4\N{GRINNING FACE}\n\0"}),
    ("surrogate pair in JSON", b'{"a": "\\ud83d\\ude00"}', {"a": "\N{GRINNING FACE}"}),
    ("control characters in JSON texts", b'{"a": "\x7f\\u0000"}', {"a": "\x7f\0"}),
    ("NaN as a YAML text", b"a: NaN\n", {"a": "NaN"}),
    ("names with marks", b"a: b & c!\n", {"a": "b & c!"}),
]


@pytest.mark.parametrize("libyaml", [True, False], ids=["libyaml", "pure"])
@pytest.mark.parametrize(("raw", "data"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_accepted(raw: bytes, data: dict[str, Any], libyaml: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A good document would be refused or read as something else."""
    monkeypatch.setattr(yaml_parser, "USE_LIBYAML", libyaml)
    found = parse_document(raw, "plan.yaml").data
    if data:
        # As text, for 1 == 1.0 == True.
        assert json.dumps(found, sort_keys=True) == json.dumps(data, sort_keys=True)


def test_aliases_share_their_node() -> None:
    """An alias would be copied, and a small file could fill the memory."""
    data = parse_document(b"a: &x [1]\nb: *x\nc: {d: *x}\n", "plan.yaml").data
    assert data["a"] is data["b"] is data["c"]["d"]


def test_depth_counts_what_aliases_stand_for() -> None:
    """A chain of aliases would build data deeper than any walk over it can go."""
    lines = ["a0: &a0 []", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 198))]
    parse_document("\n".join(lines).encode(), "plan.yaml")
    lines.append("a198: &a198 [*a197]\na199: [*a198]\n")
    with pytest.raises(InvalidInput) as caught:
        parse_document("\n".join(lines).encode(), "plan.yaml")
    (finding,) = caught.value.diagnostics
    assert (finding.code.id, finding.place.position) == ("HP009", (200, 8))


def test_garbage_collection_goes_on_afterwards() -> None:
    """A caller's garbage collector would stay switched off after a load, good or bad."""
    for raw in (b"a: 1", b"a: [", b'{"a": 1}', b'{"a":'):
        with contextlib.suppress(InvalidInput):
            parse_document(raw, "plan.yaml")
        assert gc.isenabled()


def test_source_of_a_document() -> None:
    """The renderer and the writer would not know what was read."""
    document = parse_document(b'\xef\xbb\xbf{"a": 1}', "plan.json")
    assert (document.source.name, document.source.format, document.source.text) == (
        "plan.json",
        "json",
        '{"a": 1}',
    )
    assert document.place.document == "plan.json"
    assert parse_document(b"{a: 1}", "p").source.format == "yaml"
