"""`hpplan diff`: two plans or two routing tables, for people and for machines."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

A = """\
boundary_classes: {l.0.mlp: M, l.1.mlp: M, l.2.mlp: M, "e\\e[1m": M}
param_plan:
  l.0.mlp: &entry {in_src: {x: {tp: S(1)}}, in_dst: {x: {tp: R}}}
  l.1.mlp: *entry
  l.2.mlp: *entry
  "e\\e[1m": {is_boundary: true}
"""
B = """\
model_type: llama
param_plan:
  l.3.mlp: {}
  l.2.mlp: &entry {in_dst: {x: {}}, in_src: {x: {cp: R, tp: S(0)}}, is_boundary: true}
  l.1.mlp: *entry
  l.0.mlp: *entry
boundary_classes: {l.0.mlp: M, l.1.mlp: M, l.2.mlp: M}
"""
SAME = B.replace("{x: {}}", "{x: {tp: R}}").replace("model_type: llama", "source: {model_type: llama}")

TEXT = """\
--- a.yaml
+++ b.yaml
- e\\x1b[1m
+ l.3.mlp
~ l.{0..2}.mlp
    in_src.x: {tp: S(1)} -> {tp: S(0)}
~ model_type: (absent) -> llama
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with three plans, two of which mean the same."""
    for name, text in (("a", A), ("b", B), ("same", SAME)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text(hpplan: Runner) -> None:
    """Each difference once, folded over layers, with nothing that a terminal would obey."""
    assert hpplan("diff", "a.yaml", "b.yaml") == (0, TEXT, "")


def test_colour_only_where_asked(hpplan: Runner) -> None:
    """The flag alone colours a pipe, and never JSON."""
    coloured = hpplan("--color", "always", "diff", "a.yaml", "b.yaml").stdout
    assert "\x1b[31m- e\\x1b[1m\x1b[0m\n" in coloured
    assert "\x1b[32m+ l.3.mlp\x1b[0m\n" in coloured
    assert "\x1b[33m~ l.{0..2}.mlp\x1b[0m\n" in coloured
    assert "\x1b" not in hpplan("--color", "always", "diff", "a.yaml", "b.yaml", "--format", "json").stdout


def test_exit_code(hpplan: Runner) -> None:
    """A pipeline asks with --exit-code; without it a difference is an answer like any other."""
    assert hpplan("diff", "a.yaml", "b.yaml", "--exit-code") == (1, TEXT, "")
    assert hpplan("diff", "b.yaml", "same.yaml", "--exit-code") == (0, "", "No differences.\n")


def test_json(hpplan: Runner) -> None:
    """A value that one side does not have is not in the JSON either."""
    assert json.loads(hpplan("diff", "a.yaml", "b.yaml", "--format", "json").stdout) == {
        "before": "a.yaml",
        "after": "b.yaml",
        "equal": False,
        "removed": ["e\x1b[1m"],
        "added": ["l.3.mlp"],
        "changed": [
            {
                "names": ["l.{0..2}.mlp"],
                "count": 3,
                "changes": [{"field": "in_src.x", "before": {"tp": "S(1)"}, "after": {"tp": "S(0)"}}],
            }
        ],
        "fields": [{"field": "model_type", "after": "llama"}],
    }
    assert json.loads(hpplan("diff", "b.yaml", "same.yaml", "--format", "json").stdout)["equal"] is True


def test_a_name_that_is_not_utf8(hpplan: Runner, folder: Path) -> None:
    """A file from another system can be compared as well."""
    name = os.fsdecode(b"\xff.yaml")
    (folder / name).write_text(B, encoding="utf-8")
    assert hpplan("diff", "a.yaml", name).stdout == TEXT.replace("b.yaml", "\\udcff.yaml")
    after: str = json.loads(hpplan("diff", "a.yaml", name, "--format", "json").stdout)["after"]
    assert after.encode() == b"\\udcff.yaml"


def test_standard_input(hpplan: Runner) -> None:
    """One of the two may come through a pipe."""
    assert hpplan("diff", "-", "b.yaml", stdin=A.encode()).stdout == TEXT.replace("a.yaml", "<stdin>")
    assert hpplan("diff", "-", "-").status == 2


def test_routing_tables(hpplan: Runner, folder: Path) -> None:
    """Two tables of one workload differ in who produces what."""
    (folder / "workload.yaml").write_text(
        "sequence: {length: 8}\n"
        "items:\n"
        "- {item_id: 0, batch_index: 0, decoder_token_start: 0, output_rows: 2}\n"
        "- {item_id: 1, batch_index: 0, decoder_token_start: 4, output_rows: 3}\n",
        encoding="utf-8",
    )
    for name, policy in (("one", "lpt"), ("two", "round-robin")):
        made = hpplan(
            "route", "workload.yaml", "--mesh", "tp=2,sp", "--assign", policy, "--format", "json",
            "-o", f"{name}.json",
        )  # fmt: skip
        assert made.status == 0
    # lpt gives the larger item 1 to producer 0; round-robin goes by id.
    assert hpplan("diff", "one.json", "two.json").stdout == (
        "--- one.json\n"
        "+++ two.json\n"
        "~ parents.0.items.0\n"
        "    producer: 1 -> 0\n"
        "~ parents.0.items.1\n"
        "    producer: 0 -> 1\n"
    )


def test_documents_of_two_kinds(hpplan: Runner, folder: Path) -> None:
    """A plan and a rules file have nothing to compare."""
    (folder / "rules.yaml").write_text("rules: []\n", encoding="utf-8")
    for other in ("rules.yaml", "missing.yaml"):
        result = hpplan("diff", "a.yaml", other)
        assert (result.status, result.stdout) == (2, "")
