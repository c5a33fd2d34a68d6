"""Positions of paths in a document's text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.reader import parse_document
from hpplan.documents.source import Source, Sources
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.documents.yaml_text import parser as yaml_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.diagnostics import Path

YAML = """\
# yaml-language-server: $schema=plan.json
#   second

# third
a: 1
"\N{GRINNING FACE}": {b: [x, {c: 2}], d: }
e: &e
  f: !!int 3
  ? g
  : h
i: *e
j: {<<: *e, k: 4}
destinations: {0: [5]}
"l": &l m
*l : n
? [o, {p: q}]
: r
s: {t: [1, {u: &v w}], x: 1}
*v : {y: z}
a: twice
"""

CASES: list[tuple[tuple[str | int, ...], bool, tuple[int, int]]] = [
    ((), False, (5, 1)),
    (("a",), False, (5, 4)),
    (("a",), True, (5, 1)),
    (("a", "missing", 3), True, (5, 1)),
    (("missing",), False, (5, 1)),
    (("missing",), True, (5, 1)),
    (("\N{GRINNING FACE}", "b"), False, (6, 10)),
    (("\N{GRINNING FACE}", "b", 0), False, (6, 11)),
    (("\N{GRINNING FACE}", "b", 1), False, (6, 14)),
    (("\N{GRINNING FACE}", "b", 1, "c"), False, (6, 18)),
    (("\N{GRINNING FACE}", "b", 1, "c"), True, (6, 15)),
    (("\N{GRINNING FACE}", "b", 2), False, (6, 7)),
    (("\N{GRINNING FACE}", "d"), True, (6, 23)),
    (("e",), False, (7, 4)),
    (("e", "f"), False, (8, 6)),
    (("e", "g"), True, (9, 5)),
    (("e", "g"), False, (10, 5)),
    (("i", "f"), False, (11, 1)),
    (("j", "f"), False, (12, 5)),
    (("j", "f"), True, (12, 5)),
    (("j", "k"), True, (12, 13)),
    (("destinations", "0", 0), False, (13, 20)),
    (("destinations", "0"), True, (13, 16)),
    (("m",), True, (15, 1)),
    (("m",), False, (15, 6)),
    (("s", "x"), True, (18, 24)),
    (("w", "y"), False, (19, 10)),
]


@pytest.mark.parametrize("libyaml", [True, False], ids=["libyaml", "pure"])
def test_places_in_yaml(libyaml: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding would point at another line or column, alone or beside others."""
    monkeypatch.setattr(yaml_parser, "USE_LIBYAML", libyaml)
    places = {Place("plan.yaml", path, on_key=on_key): position for path, on_key, position in CASES}
    assert Source("plan.yaml", YAML, "yaml").locate(places) == places
    for place, position in places.items():
        assert Source("plan.yaml", YAML, "yaml").locate([place]) == {place: position}


DATA = st.recursive(
    st.one_of(st.sampled_from(["x", "no", "a: b", "", "\N{GRINNING FACE}\n"]), st.integers(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b c", "1", "\N{GRINNING FACE}", "*"]), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abc"), DATA, min_size=1), st.data())
def test_positions_are_those_of_other_readers(data: dict[str, object], draw: st.DataObject) -> None:
    """A node that lies behind, beside or below others that were passed over would be looked for elsewhere."""
    style = draw.draw(st.sampled_from([False, True, None]))
    for text in (
        dump_yaml(data),
        yaml.dump(data, default_flow_style=style, allow_unicode=True),
        json.dumps(data, indent=draw.draw(st.sampled_from([None, 2])), ensure_ascii=False),
    ):
        nodes = dict(_nodes(yaml.compose(text, yaml.SafeLoader), ()))
        wanted = draw.draw(st.lists(st.sampled_from(sorted(nodes, key=repr)), min_size=1))
        places = [Place("plan", path, on_key=on_key) for path, on_key in wanted]
        found = parse_document(text.encode(), "plan").source.locate(places)
        for place, (line, column) in found.items():
            mark = nodes[place.path, place.on_key]
            assert (line, column) == (mark.line + 1, mark.column + 1), (text, place)


def _nodes(node: yaml.Node, path: Path) -> Iterator[tuple[tuple[Path, bool], yaml.Mark]]:
    """Yield where PyYAML's composer sees each node and each key below one."""
    yield (path, False), node.start_mark
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield ((*path, key.value), True), key.start_mark
            yield from _nodes(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, member in enumerate(node.value):
            yield from _nodes(member, (*path, index))


def test_places_in_json() -> None:
    """A finding in JSON would point at another line or column."""
    text = '{"a": [1, {"b": "]\\""}],\r\n "\N{GRINNING FACE}": {"c": null, "d": {}}}'
    source = parse_document(text.encode(), "plan.json").source
    cases = {
        Place("plan.json"): (1, 1),
        Place("plan.json", ("a",)): (1, 7),
        Place("plan.json", ("a", 0)): (1, 8),
        Place("plan.json", ("a", 1, "b")): (1, 17),
        Place("plan.json", ("a", 1, "b"), on_key=True): (1, 12),
        Place("plan.json", ("a", 1, "x"), on_key=True): (1, 11),
        Place("plan.json", ("\N{GRINNING FACE}", "c")): (2, 13),
        Place("plan.json", ("\N{GRINNING FACE}", "d")): (2, 24),
        Place("plan.json", ("\N{GRINNING FACE}", "d", "e")): (2, 19),
    }
    assert source.locate(cases) == cases


def test_known_positions_are_kept() -> None:
    """A fault in the syntax would be moved to where its path leads."""
    place = Place("plan.yaml", ("a",), position=(7, 8))
    assert Source("plan.yaml", "a: 1\n", "yaml").locate([place]) == {place: (7, 8)}


def test_text_that_does_not_parse_has_positions_up_to_the_fault() -> None:
    """Asking for a position would raise where the text is broken."""
    for text, form in (("a: 1\nb: [\n", "yaml"), ('{"a": 1,\n"b": ["x', "json")):
        source = Source("plan", text, form)  # type: ignore[arg-type]
        places = [Place("plan", ("a",)), Place("plan", ("b", 0, "c"), on_key=True)]
        assert [source.locate(places)[place][0] for place in places] == [1, 2]


def test_every_node_of_a_plan_is_found_in_both_formats() -> None:
    """Some shape of written document would have nodes without a position of their own."""
    data = {"a": [[1, {"b": "x"}], []], "c": {"d": {"e": {"f": ["y" * 90, "z"]}}, "k" * 2000: 1, "1": None}}
    for text in (
        dump_yaml(data),
        dump_json(data),
        yaml.dump(data, default_flow_style=True),
        json.dumps(data),
    ):
        source = parse_document(text.encode(), "plan").source
        places = [
            Place("plan", path, on_key=True)
            for path in (
                ("a",),
                ("c",),
                ("c", "d"),
                ("c", "d", "e"),
                ("c", "d", "e", "f"),
                ("c", "k" * 2000),
                ("c", "1"),
            )
        ]
        for place, (line, column) in source.locate(places).items():
            rest = source.line(line)[column - 1 :].lstrip("?'\" ")
            assert rest.startswith(str(place.path[-1])), (text, place)


def test_lines() -> None:
    """A renderer would quote another line than the one that is meant."""
    source = Source("plan", "a\r\nb\rc\u2028d\n", "yaml")
    assert [source.line(number) for number in range(6)] == ["", "a", "b", "c\u2028d", "", ""]
    assert [source.position(index) for index in (0, 3, 5, 9)] == [(1, 1), (2, 1), (3, 1), (4, 1)]
    source = Source("plan", "a\nbc\n\u2028d\n", "yaml")
    assert [source.line(number) for number in range(6)] == ["", "a", "bc", "\u2028d", "", ""]
    assert [source.position(index) for index in (0, 1, 3, 6, 8)] == [(1, 1), (1, 2), (2, 2), (3, 2), (4, 1)]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        (YAML, "# yaml-language-server: $schema=plan.json\n#   second\n\n# third\n"),
        ("a: 1 # b\n", ""),
        ("\n# a\na: 1\n", "# a\n"),
        ("\n\n# a\n\n \t\n# b\n# c\n\n\na: 1 # d\n", "# a\n\n# b\n# c\n"),
        ("\r\n# a\r\n\r\n# b\r\na: 1", "# a\n\n# b\n"),
        ("# a\n---\n# b\na: 1", "# a\n"),
        ("\n\na: 1", ""),
        ("  # a\r\n#b\r\na: 1", "# a\n#b\n"),
        ("# a", "# a\n"),
        ("#\u2028a: 1\n", ""),
    ],
)
def test_header(text: str, header: str) -> None:
    """The comment that names the schema would be lost, or data would be taken for a comment."""
    assert Source("plan", text, "yaml").header == header
    assert Source("plan", f"{header}a: 1\n", "yaml").header == header
    assert Source("plan", text, "json").header == ""


@pytest.mark.parametrize("libyaml", [True, False], ids=["libyaml", "pure"])
@pytest.mark.parametrize(
    ("text", "has_comments"),
    [
        ("# h\n\n# i\na: x#y\nb#: 'c # d'\ne: \"f\n  # g\"\n", False),
        ("a: |\n  # x\n  y # z\nb: >-\n  #\n", False),
        ("a: 'b # c'\nd: e # f\n", True),
        ("a: | # x\n  y\n", True),
        ("a: |\n  x\n# y\nb: 1\n", True),
        ("a: [x, # y\n  z]\n", True),
        ("a: [x]# y\n", True),
        ("a: 1\r# b\r", True),
        ("a: 1\n---\n# b\n", True),
    ],
)
def test_comments(text: str, has_comments: bool, libyaml: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments would be lost without a word, or nobody could find those that were said to be lost."""
    monkeypatch.setattr(yaml_parser, "USE_LIBYAML", libyaml)
    assert Source("plan", text, "yaml").has_comments is has_comments
    assert not Source("plan", text, "json").has_comments


def test_findings_are_sorted() -> None:
    """Two runs would report the same findings in different orders."""
    first, second = (Code(f"HP9{n}", f"code-{n}", "error", "") for n in (1, 2))
    sources = Sources()
    sources.add(Source("b", "x: 1\ny: 2\n", "yaml"))
    sources.add(Source("a", "x: 1\n", "yaml"))
    expected = [
        (Diagnostic(second, "m", Place("a", ("x",))), (1, 4)),
        (Diagnostic(first, "m", Place("b", ("x",), on_key=True)), (1, 1)),
        (Diagnostic(first, "m", Place("b", ("x",))), (1, 4)),
        (Diagnostic(first, "n", Place("b", ("x",))), (1, 4)),
        (Diagnostic(second, "a", Place("b", ("x",))), (1, 4)),
        (Diagnostic(first, "m", Place("b", ("y",))), (2, 4)),
        (Diagnostic(first, "m", Place("never read", ("y",))), (1, 1)),
    ]
    assert sources.resolve([item for item, _ in reversed(expected)]) == expected
    assert sources.get("a") is not None
    assert sources.get("never read") is None
