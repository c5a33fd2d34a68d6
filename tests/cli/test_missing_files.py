"""One file that is missing does not hide what the others have to say."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

GONE = "Error: Cannot read {}: there is no such file or folder.\n"


@pytest.fixture(autouse=True)
def _files(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out good and bad files of each kind in the current folder."""
    samples = root / "sample_plans"
    shutil.copy(samples / "llama3_8b.yaml", tmp_path / "good.yaml")
    shutil.copy(samples / "qwen3_vl_30b_a3b.yaml", tmp_path / "other.yaml")
    shutil.copy(samples / "qwen3_vl_30b_a3b.rules.yaml", tmp_path / "rules.yaml")
    shutil.copy(samples / "broken" / "dp-placement.yaml", tmp_path / "wrong.yaml")
    (tmp_path / "bad.yaml").write_text("param_plan: 1\n")
    (tmp_path / "samples.jsonl").write_text('{"a" 1}\n')
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("order", [("gone.yaml", "wrong.yaml"), ("wrong.yaml", "gone.yaml")])
def test_validate(hpplan: Runner, tmp_path: Path, order: tuple[str, str]) -> None:
    """The findings in one file are left out, or pass for a report on all."""
    for options in ([], ["--output-format", "json", "-o", "report"], ["--output-format", "junit"]):
        result = hpplan("validate", *order, *options)
        assert (result.status, result.stdout) == (2, "")
        assert result.stderr.startswith("wrong.yaml:18:34: HP205 error: ")
        assert result.stderr.endswith(GONE.format("gone.yaml"))
    assert not (tmp_path / "report").exists()


def test_validate_nothing(hpplan: Runner) -> None:
    """Only the first of several missing files is named, or there is an answer about nothing."""
    result = hpplan("validate", "gone.yaml", "lost.yaml", "none/*.yaml")
    assert (result.status, result.stdout) == (2, "")
    pattern = "Error: No file matches 'none/*.yaml'.\n"
    assert result.stderr == pattern + GONE.format("gone.yaml") + GONE.format("lost.yaml")


@pytest.mark.parametrize("option", ["--rules", "--strategies"])
def test_validate_without_rules(hpplan: Runner, option: str) -> None:
    """What is wrong with the plan itself is hidden by rules that are not there."""
    result = hpplan("validate", "bad.yaml", option, "gone.yaml")
    assert (result.status, result.stdout) == (2, "")
    assert "bad.yaml:1:" in result.stderr
    assert result.stderr.endswith(GONE.format("gone.yaml"))


@pytest.mark.parametrize("answer", ["--check", "--diff", "--changes"])
def test_normalize_answers(hpplan: Runner, answer: str) -> None:
    """A plan that would change is passed over in silence where another one is missing."""
    result = hpplan("normalize", "gone.yaml", "other.yaml", "--rules", "rules.yaml", answer)
    assert (result.status, result.stdout) == (2, "")
    assert "other.yaml" in result.stderr
    assert result.stderr.endswith(GONE.format("gone.yaml"))


def test_normalize_writes_all_or_none(hpplan: Runner, tmp_path: Path) -> None:
    """Some plans are written where another cannot be read, or what is wrong with a third is not said."""
    before = (tmp_path / "other.yaml").read_text()
    result = hpplan("normalize", "gone.yaml", "other.yaml", "bad.yaml", "-w", "--rules", "rules.yaml")
    assert (result.status, result.stdout) == (2, "")
    assert "bad.yaml:1:" in result.stderr
    assert result.stderr.endswith(GONE.format("gone.yaml"))
    assert (tmp_path / "other.yaml").read_text() == before


@pytest.mark.parametrize(
    ("command", "gone"),
    [
        ("normalize bad.yaml --rules gone.yaml --strategies lost.yaml", ["gone.yaml", "lost.yaml"]),
        ("compile bad.yaml --workload lost.yaml --mesh cp=2 -o out", ["lost.yaml"]),
        ("explain bad.yaml --rules gone.yaml", ["gone.yaml"]),
        ("workload samples.jsonl gone.jsonl lost.jsonl --model qwen3_vl", ["gone.jsonl", "lost.jsonl"]),
    ],
)
def test_other_inputs(hpplan: Runner, command: str, gone: list[str]) -> None:
    """Whoever corrects one thing finds the next by running the command again."""
    result = hpplan(*command.split())
    assert (result.status, result.stdout) == (2, "")
    assert " error: " in result.stderr
    assert result.stderr.endswith("".join(GONE.format(name) for name in gone))


def test_diff(hpplan: Runner) -> None:
    """The same of two files that are compared."""
    result = hpplan("diff", "gone.yaml", "lost.yaml")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == GONE.format("gone.yaml") + GONE.format("lost.yaml")


def test_a_bad_mesh_beside_a_missing_workload(hpplan: Runner) -> None:
    """The same of an option and a file."""
    result = hpplan("route", "other.yaml", "--workload", "gone.yaml", "--mesh", "zz=2")
    assert (result.status, result.stdout) == (2, "")
    assert "zz" in result.stderr
    assert result.stderr.endswith(GONE.format("gone.yaml"))
