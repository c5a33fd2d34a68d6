"""What written documents look like."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml

from hpplan.documents.natural import natural_key
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.errors import InvalidInput

PLAN: dict[str, Any] = {
    "param_plan": {
        "model.layers.10.mlp": {"is_boundary": False},
        "model.layers.2.mlp": {
            "is_boundary": True,
            "out_names": ["output"],
            "in_src": {"hidden_states": {"tp": "S(1)", "cp": "S(1)"}},
            "params": {"up.weight": {"tp": "SS(0,2)", "cp": "R"}, "down.weight": {"cp": "R", "tp": "P(sum)"}},
        },
        "model.empty": {},
    },
    "zeta": None,
    "boundary_classes": {"model.layers.10.mlp": "MLP", "model.layers.2.mlp": "MLP"},
    "mesh_dim_names": ["tp", "cp"],
    "buckets": [[0], [], [1, 2]],
    "rules": [
        {"match": "*.mlp", "local_compute_fn": {"_target_": "a.b"}},
        {"match": ["x"], "when": "ep"},
    ],
    "alpha": "no",
}

ORDER = {
    (): ("mesh_dim_names", "boundary_classes", "param_plan"),
    ("param_plan", "*"): ("params", "in_src", "out_names", "is_boundary"),
    ("rules", "*"): ("match",),
}

WRITTEN = """\
# A comment.
mesh_dim_names: [tp, cp]
boundary_classes:
  model.layers.2.mlp: MLP
  model.layers.10.mlp: MLP
param_plan:
  model.empty: {}
  model.layers.2.mlp:
    params:
      down.weight: {cp: R, tp: P(sum)}
      up.weight: {cp: R, tp: 'SS(0,2)'}
    in_src: {hidden_states: {cp: S(1), tp: S(1)}}
    out_names: [output]
    is_boundary: true
  model.layers.10.mlp:
    is_boundary: false
alpha: 'no'
buckets:
  - [0]
  - []
  - [1, 2]
rules:
  - match: '*.mlp'
    local_compute_fn: {_target_: a.b}
  - match: [x]
    when: ep
zeta: null
"""


def _reversed(data: Any) -> Any:  # noqa: ANN401 - any data
    if isinstance(data, dict):
        return {key: _reversed(value) for key, value in reversed(data.items())}
    return [_reversed(value) for value in data] if isinstance(data, list) else data


def test_plan() -> None:
    """A written plan would look different from what reviewers are used to, in every diff."""
    assert dump_yaml(PLAN, ORDER, "# A comment.\n") == WRITTEN


def test_order_of_keys_means_nothing() -> None:
    """Two plans that differ in key order alone would give different bytes."""
    assert dump_yaml(_reversed(PLAN), ORDER, "# A comment.\n") == WRITTEN
    assert dump_json(_reversed(PLAN)) == dump_json(PLAN)


def test_own_output_is_left_as_it_is() -> None:
    """Writing what was just written would change it."""
    document = parse_document(WRITTEN.encode(), "plan.yaml")
    assert dump_yaml(document.data, ORDER, document.source.header) == WRITTEN


def test_named_pattern_wins_over_any_key() -> None:
    """A field order for one path would be hidden by a more general one."""
    order = {("a", "*"): ("z",), ("*", "b"): ("y",), ("a", "b"): ("x",)}
    data = {
        "a": {"b": dict.fromkeys("wxyz", 1), "c": dict.fromkeys("wxyz", 1)},
        "q": {"b": dict.fromkeys("wxyz", 1)},
    }
    assert dump_yaml(data, order).splitlines() == [
        "a:",
        *["  b:", "    x: 1", "    w: 1", "    'y': 1", "    z: 1"],
        *["  c:", "    z: 1", "    w: 1", "    x: 1", "    'y': 1"],
        *["q:", "  b:", "    'y': 1", "    w: 1", "    x: 1", "    z: 1"],
    ]


def test_order_reaches_into_lists() -> None:
    """Items of a list would not be written in the order of their fields."""
    assert (
        dump_yaml({"items": [{"a": 1, "id": 2}]}, {("items", "*"): ("id",)})
        == "items:\n  - id: 2\n    a: 1\n"
    )


@pytest.mark.parametrize(("length", "lines"), [(95, 1), (96, 2)])
def test_width(length: int, lines: int) -> None:
    """A line would be longer than 100 columns where it need not be."""
    text = dump_yaml({"a": ["x" * length]})
    assert len(text.splitlines()) == lines
    assert text == ("a: [" + "x" * 95 + "]\n" if lines == 1 else "a:\n  - " + "x" * 96 + "\n")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, "{}\n"),
        ([], "[]\n"),
        ("x", "x\n"),
        ([[["a"], {"b": [1]}]], "- - [a]\n  - b: [1]\n"),
        ({"a": [{"b": {"c": {}}, "d": {"e": 1}}]}, "a:\n  - b: {c: {}}\n    d: {e: 1}\n"),
        ({"a": [[{"b": [1, [2], [3]]}]]}, "a:\n  - - b:\n        - 1\n        - [2]\n        - [3]\n"),
    ],
)
def test_shapes(data: object, text: str) -> None:
    """An unusual shape would be written so that it reads back as another."""
    assert dump_yaml(data) == text
    assert yaml.safe_load(text) == data


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-5, "-5"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e20, "1.0e+20"),
        (1.5e300, "1.5e+300"),
        (1e-7, "1.0e-07"),
        (100000.0, "100000.0"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
        ("", "''"),
        ("no", "'no'"),
        ("On", "'On'"),
        ("y", "'y'"),
        ("NULL", "'NULL'"),
        ("~", "'~'"),
        ("1", "'1'"),
        ("1e5", "'1e5'"),
        ("1:30", "'1:30'"),
        ("0o17", "'0o17'"),
        ("2024-01-02", "'2024-01-02'"),
        (".5", "'.5'"),
        ("<<", "'<<'"),
        ("=", "'='"),
        ("*.mlp", "'*.mlp'"),
        ("&a", "'&a'"),
        ("!a", "'!a'"),
        ("a: b", "'a: b'"),
        ("a:b", "'a:b'"),
        ("a #b", "'a #b'"),
        ("a,b", "'a,b'"),
        ("[a]", "'[a]'"),
        ("it's", "'it''s'"),
        (" a", "' a'"),
        ("a ", "'a '"),
        ("a  b", "'a  b'"),
        ("a b", "a b"),
        ("P(sum)", "P(sum)"),
        ("/data/x-1.yaml", "/data/x-1.yaml"),
        ("\xe4", "'\xe4'"),
        ("\N{GRINNING FACE}", "'\N{GRINNING FACE}'"),
        ("a\nb", '"a\\nb"'),
        ("\t", '"\\t"'),
        ("\\\"'\n", '"\\\\\\"\'\\n"'),
        ("\0\x1b\x7f", '"\\0\\x1B\\x7F"'),
        ("\x85\u2028\u2029\ufeff\ufffe", '"\\x85\\u2028\\u2029\\uFEFF\\uFFFE"'),
        ("\x85\U0001f600", '"\\x85\U0001f600"'),
    ],
)
def test_spelling(value: object, text: str) -> None:
    """A scalar would read back as something else, or be spelled in a new way."""
    assert dump_yaml({"a": value}) == f"a: {text}\n"


def test_long_keys_read_back() -> None:
    """YAML readers would not find the colon after a key of more than 1,024 characters."""
    data = {"k" * 2000: {"*" * 999: [{"l" * 1500: 1, "m": {"n" * 3000: [[]]}}]}}
    text = dump_yaml(data)
    assert yaml.safe_load(text) == data
    assert parse_document(text.encode(), "plan.yaml").data == data


def test_json() -> None:
    """JSON output would not have the form of HyperParallel's own files."""
    data = {"b": [1, {"d": None, "c": "\xe4\u2028"}], "a": {}}
    text = dump_json(data)
    nested = '{\n      "c": "\xe4\u2028",\n      "d": null\n    }'
    assert text == '{\n  "a": {},\n  "b": [\n    1,\n    ' + nested + "\n  ]\n}\n"
    assert json.loads(text) == data


@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
def test_half_a_surrogate_pair_is_refused(dump: Any) -> None:  # noqa: ANN401 - either of the two
    """A text from the command line that is no UTF-8 would end in a traceback when it is written."""
    with pytest.raises(InvalidInput) as caught:
        dump({"model_type": "\udcff"})
    assert [item.code.id for item in caught.value.diagnostics] == ["HP017"]


def test_natural_order() -> None:
    """Layers would not stand in the order in which they run."""
    names = [
        "layers.10",
        "layers.2",
        "layers.2.b",
        "layers.02",
        "layers",
        "a",
        "10",
        "9",
        "",
        "layers.2a",
    ]
    assert sorted(names, key=natural_key) == [
        "",
        "9",
        "10",
        "a",
        "layers",
        "layers.02",
        "layers.2",
        "layers.2.b",
        "layers.2a",
        "layers.10",
    ]
    assert natural_key("1" * 10000) < natural_key("2" * 10000)
