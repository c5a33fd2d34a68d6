"""What is written reads back equal: with hpplan, with PyYAML, and with a YAML 1.2 reader."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.documents.yaml_text import parser as yaml_parser

if TYPE_CHECKING:
    from collections.abc import Callable

TRICKY = [
    *(
        "",
        "~",
        "null",
        "yes",
        "NO",
        "on",
        "y",
        "1",
        "-1",
        "+1",
        "0x1f",
        "0o17",
        "017",
        "1_000",
        "1e5",
        "1.",
        ".5",
        ".",
    ),
    *(
        ".inf",
        "-.Inf",
        ".nan",
        "1:30",
        "190:20:30",
        "2024-01-02",
        "2024-01-02 03:04:05",
        "<<",
        "=",
        "*a",
        "&a",
        "!a",
    ),
    *(
        "- a",
        "-",
        "?",
        "? a",
        ":",
        "a:",
        "a: b",
        "a #b",
        "#a",
        "'",
        '"',
        "''",
        "{",
        "}",
        "[]",
        "a,b",
        "|",
        ">",
        "%a",
    ),
    *(
        "@a",
        "`a",
        " ",
        " a",
        "a ",
        "a  b",
        "a\nb",
        "\n",
        "\r",
        "\t",
        "a\tb",
        "\0",
        "\x1b",
        "\x7f",
        "\x85",
        "\xa0",
    ),
    *(
        "\u2028",
        "\u2029",
        "\ufeff",
        "\ufffe",
        "\uffff",
        "\U0001f600",
        "\U0010ffff",
        "---",
        "...",
        "--- a",
        "\\",
        "\\n",
    ),
    *(
        "P(sum)",
        "SS(0,2)",
        "*.mlp",
        "model.layers.10.mlp",
        "k" * 130,
        "k" * 1100,
        "true",
        "False",
        "None",
        "destinations",
    ),
]
TEXTS = st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | TEXTS
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)
DOCUMENTS = st.dictionaries(TEXTS, DATA, max_size=5)


def same(left: Any, right: Any) -> bool:  # noqa: ANN401 - any data
    """Compare with types, for 1 == 1.0 == True, and 0.0 == -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right)


def plain(data: Any) -> Any:  # noqa: ANN401 - any data
    """Turn what ruamel.yaml makes into plain data."""
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


@given(DOCUMENTS)
@settings(max_examples=300)
def test_yaml_reads_back(data: dict[str, Any]) -> None:
    """A value would change on its way through a file, for one of the readers."""
    text = dump_yaml(data)
    assert same(parse_document(text.encode(), "plan").data, data)
    assert same(yaml.safe_load(text), data)


@given(DOCUMENTS)
@settings(max_examples=60)
def test_yaml_reads_back_slowly(data: dict[str, Any]) -> None:
    """A value would change where PyYAML has no C parser, or for readers of YAML 1.2."""
    text = dump_yaml(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_parser, "USE_LIBYAML", False)
        assert same(parse_document(text.encode(), "plan").data, data)
    assert same(plain(YAML(typ="safe", pure=True).load(text)), data)


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_texts(text: str) -> None:
    """A text with a meaning of its own would be lost as a key, a value or an item."""
    data = {text: text, "a": {"b": {text: [text, {text: text}]}}}
    written = dump_yaml(data)
    assert parse_document(written.encode(), "plan").data == data
    assert yaml.safe_load(written) == data
    assert plain(YAML(typ="safe", pure=True).load(written)) == data


@given(st.dictionaries(TEXTS, DATA.filter(lambda data: "inf" not in repr(data)), max_size=5))
@settings(max_examples=100)
def test_json_reads_back(data: dict[str, Any]) -> None:
    """A value would change on its way through a JSON file."""
    text = dump_json(data)
    assert same(parse_document(text.encode(), "plan").data, data)
    assert same(json.loads(text), data)


@given(DOCUMENTS, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_same_bytes(data: dict[str, Any], random: Any) -> None:  # noqa: ANN401 - hypothesis's
    """The order of keys would show in what is written, or a second writing would change it."""

    def shuffled(node: Any) -> Any:  # noqa: ANN401 - any data
        if isinstance(node, dict):
            keys = list(node)
            random.shuffle(keys)
            return {key: shuffled(node[key]) for key in keys}
        return [shuffled(member) for member in node] if isinstance(node, list) else node

    order = {(): ("b", "a"), ("*",): ("z",), ("a", "*"): ("b",)}
    text = dump_yaml(data, order)
    assert dump_yaml(shuffled(data), order) == text
    assert dump_yaml(parse_document(text.encode(), "plan").data, order) == text


@given(DOCUMENTS)
@settings(max_examples=60)
def test_other_json_writers(data: dict[str, Any]) -> None:
    """A JSON document of another writer would be read as something else."""
    for text in (json.dumps(data), json.dumps(data, indent=1, ensure_ascii=False)):
        if "Infinity" not in text:
            assert same(parse_document(text.encode(), "plan").data, data), text


@given(DOCUMENTS)
@settings(max_examples=60)
def test_other_yaml_writers(data: dict[str, Any]) -> None:
    """A YAML document of another writer would be read as something else."""
    for options in ({"allow_unicode": True}, {"default_flow_style": True, "width": 20}):
        text = yaml.dump(data, Dumper=yaml.SafeDumper, **options)
        # The YAML 1.1 writer loses some line separators, and leaves alone what YAML 1.2 takes for a number.
        readers = (yaml.safe_load, YAML(typ="safe", pure=True).load)
        if all(_reads(reader, text, data) for reader in readers):
            assert same(parse_document(text.encode(), "plan").data, data), text


def _reads(reader: Callable[[str], Any], text: str, data: Any) -> bool:  # noqa: ANN401 - any data
    """Whether another reader finds the data in the text."""
    try:
        return same(plain(reader(text)), data)
    except YAMLError:
        return False
