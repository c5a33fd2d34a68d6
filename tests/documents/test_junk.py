"""Whatever the reader is fed, it answers with data or with findings that have positions."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpplan.documents.reader import parse_document
from hpplan.documents.source import Sources
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.documents.yaml_text import parser as yaml_parser
from hpplan.errors import InvalidInput
from hpplan.reports.findings.concise import render

PIECES = [
    *(
        "a",
        "b",
        "1",
        "null",
        "true",
        "1e999",
        ": ",
        ":",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "- ",
        "-",
        "? ",
        ", ",
        ",",
        "{",
        "}",
    ),
    *(
        "[",
        "]",
        "&x ",
        "*x",
        "<<",
        "'",
        '"',
        "\\",
        "\\ud800",
        "\\x41",
        "!!str ",
        "!!int ",
        "!t ",
        "! ",
        "# c",
        "|\n",
        ">-\n",
    ),
    *(
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "%TAG ! x\n",
        "\t",
        "\r\n",
        "\x85",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "@",
        "`",
        "%",
    ),
    *("destinations: ", "NaN", '"a": ', "{0: 1}", "<<: *x\n", "&x {a: 1}\n"),
]
JUNK = st.lists(st.sampled_from(PIECES), max_size=25).map(lambda pieces: "".join(pieces).encode())
SMALL = {
    "model_type": "deepseek_v3",
    "boundary_classes": {"model.layers.0.mlp": "DeepseekV3MLP", "*.mlp": "no"},
    "param_plan": {
        "model.layers.0.mlp": {"in_src": {"hidden_states": {"tp": "S(1)", "cp": "SS(0,2)"}}, "out_names": []}
    },
    "buckets": [[0], [1, 2], [None, 1.5, "\N{GRINNING FACE}\n"]],
}


def outcome(raw: bytes) -> object:
    """Return the data, or the codes that were found after checking that they can be shown."""
    sources = Sources()
    try:
        return parse_document(raw, "plan", sources).data
    except InvalidInput as invalid:
        findings = invalid.diagnostics
    assert findings
    for item, (line, column) in sources.resolve(findings):
        assert line >= 1
        assert column >= 1
        assert item.message.isprintable()
    assert render(findings, sources).count("\n") >= len(findings)
    return {item.code.id for item in findings}


@given(JUNK)
@settings(max_examples=600)
@example(b"a: &x {<<: *x}\n*x : *x")
@example(b"? &x [*x]\n: <<")
@example(b"!!map {a: 1}: b")
@example(b"%TAG ! %ff\n--- !a b")
@example(b"a: !%ff b")
def test_junk(raw: bytes) -> None:
    """A broken document would end in a traceback."""
    outcome(raw)


@given(JUNK)
@settings(max_examples=150)
def test_junk_without_libyaml(raw: bytes) -> None:
    """A broken document would end in a traceback where PyYAML has no C parser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_parser, "USE_LIBYAML", False)
        outcome(raw)


@given(st.binary(max_size=60))
@settings(max_examples=200)
def test_bytes(raw: bytes) -> None:
    """A binary file would end in a traceback."""
    outcome(raw)
    outcome(b'{"a": ' + raw)


@pytest.mark.parametrize("text", [dump_yaml(SMALL), dump_json(SMALL)], ids=["yaml", "json"])
def test_truncated_anywhere(text: str) -> None:
    """A file that was cut short would end in a traceback or, in JSON, pass for a whole one."""
    raw = text.encode()
    assert outcome(raw) == SMALL
    for stop in range(len(raw) - 1):
        found = outcome(raw[:stop])
        if text.startswith("{"):
            assert isinstance(found, set)
            assert found <= {"HP001", "HP003", "HP015"}


@pytest.mark.parametrize("text", [dump_yaml(SMALL), dump_json(SMALL)], ids=["yaml", "json"])
def test_one_byte_changed(text: str) -> None:
    """A damaged file would end in a traceback."""
    raw = text.encode()
    for index in range(0, len(raw), 3):
        for byte in b"\x00\xff:{\"'":
            outcome(raw[:index] + bytes([byte]) + raw[index + 1 :])
