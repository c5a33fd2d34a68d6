"""The line that tells editors where the schema of a document is, in a document that moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hpplan.documents.schema_reference import moved_fields, moved_header

if TYPE_CHECKING:
    from conftest import Runner

PLAN = """\
# yaml-language-server: $schema=../schemas/plan.schema.json
# Mine.
param_plan: {a: {is_boundary: true}}
boundary_classes: {a: M}
parallel_dims: {cp_size: 2}
feature_exchange: {feature_width: 1, sequence: {length: 4}, items: []}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a plan in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("plans", "made/here"):
        Path(name).mkdir(parents=True)
    Path("plans/plan.yaml").write_text(PLAN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "written", "up"),
    [
        (("compile", "-o", "made/here"), "made/here/plan.yaml", "../.."),
        (("compile", "-o", "made/new/still"), "made/new/still/plan.yaml", "../../.."),
        (("normalize", "-o", "made/here/n.yaml"), "made/here/n.yaml", "../.."),
    ],
)
def test_the_line_moves_with_the_plan(
    hpplan: Runner, arguments: tuple[str, ...], written: str, up: str
) -> None:
    """The editor finds no schema for what hpplan wrote, and checks nothing."""
    command, *options = arguments
    assert hpplan(command, "plans/plan.yaml", *options).status == 0
    text = Path(written).read_text(encoding="utf-8")
    assert text.startswith(f"# yaml-language-server: $schema={up}/schemas/plan.schema.json\n# Mine.\n")


def test_what_was_written_is_what_is_compared(hpplan: Runner) -> None:
    """A check of what normalizing wrote into another folder fails over the line for editors."""
    assert hpplan("normalize", "plans/plan.yaml", "-o", "made/here/n.yaml").status == 0
    assert hpplan("normalize", "plans/plan.yaml", "--check", "-o", "made/here/n.yaml") == (0, "", "")
    assert "$schema=../schemas/" in hpplan("normalize", "plans/plan.yaml").stdout


def test_a_plan_in_json(hpplan: Runner) -> None:
    """JSON has no comments: there editors look at a field, which then is no mistake either."""
    data = {
        "$schema": "../schemas/plan.schema.json",
        "param_plan": {"a": {"is_boundary": True}},
        "boundary_classes": {"a": "M"},
    }
    Path("plans/plan.json").write_text(json.dumps(data), encoding="utf-8")
    assert hpplan("normalize", "plans/plan.json", "-o", "made/here/n.json").status == 0
    written = json.loads(Path("made/here/n.json").read_text(encoding="utf-8"))
    assert written["$schema"] == "../../schemas/plan.schema.json"
    for one in (
        data,
        {"$schema": "s.json", "rules": []},
        {"$schema": "s.json", "sequence": {"length": 4}, "items": [], "feature_width": 1},
        {
            "$schema": "s.json",
            "micro_batches": [{"sequence": {"length": 4}, "items": [], "feature_width": 1}],
        },
    ):
        Path("one.json").write_text(json.dumps(one), encoding="utf-8")
        assert hpplan("validate", "one.json") == (0, "", "No findings in 1 file.\n")


@pytest.mark.parametrize(
    ("path", "moved"),
    [
        ("plan.json", "../../a/plan.json"),
        ("./s/plan.json", "../../a/s/plan.json"),
        ("../../plan.json", "../../../plan.json"),
        ("https://example.com/plan.json", "https://example.com/plan.json"),
        ("file:///plan.json", "file:///plan.json"),
        ("/opt/plan.json", "/opt/plan.json"),
    ],
)
def test_paths(path: str, moved: str) -> None:
    """A path that is not relative to the document is the same everywhere."""
    for line in (
        "# yaml-language-server: $schema={}",
        "#yaml-language-server:  $schema={} x",
        "# $schema: {}",
    ):
        text = line.format(path)
        assert moved_header(text, "a/p.yaml", "b/c/p.yaml") == line.format(moved)
        assert moved_header(text, "a/p.yaml", "a/q.yaml") == text
        assert moved_header(text, "<stdin>", "b/c/p.yaml") == text
        assert moved_header(text, "a/p.yaml", None) == text
    assert moved_fields({"$schema": path, "a": 1}, "a/p.json", "b/c/p.json") == {"$schema": moved, "a": 1}
    assert moved_fields({"$schema": 3}, "a/p.json", "b/c/p.json") == {"$schema": 3}
