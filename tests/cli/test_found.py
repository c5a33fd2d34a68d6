"""Folders and patterns on the command line, and files of others among ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Runner

PLAN = "param_plan: {a: {is_boundary: true}}\nboundary_classes: {a: M}\n"
STALE = PLAN + "external_state_classes: [M]\n"
FILES = {
    "plans/plan10.yaml": PLAN,
    "plans/plan2.yml": PLAN,
    "plans/deep/er/plan.json": '{"param_plan": {"a": {}}, "boundary_classes": {}}',
    "plans/moe.rules.yaml": "rules: [{match: a, local_compute_fn: x.y}]\n",
    "plans/slip.rules.yaml": "rules: [{match: a, local_compute_func: x.y}]\n",
    "plans/s.yaml": "strategies: [{target: x.y, kind: moe_ep_routed, target_class: M}]\n",
    "plans/w.yaml": "sequence: {length: 4}\nitems: []\nfeature_width: 1\n",
    "plans/many.yaml": "micro_batches: [{sequence: {length: 4}, items: []}]\n",
    "plans/torn.yaml": "boundary_classes: {a: M}\nparam_plan: {a: [}\n",
    "plans/torn.rules.yaml": "rules:\n- match: ['*.mlp'\n- local_compute_fn: x.y\n",
    "plans/torn.json": '{"boundary_classes": {}, "param_plan": {"a": }',
    "plans/.hidden.yaml": PLAN,
    ".cache/plan.yaml": PLAN,
    "plans/notes.txt": PLAN,
    "foreign/role.yaml": "kind: Role\nrules:\n- apiGroups: ['']\n  resources: [pods]\n",
    "foreign/list.json": '{"kind": "List", "items": [{"kind": "Pod"}]}',
    "foreign/rollout.yaml": "replicas: 3\nstrategies: [{kind: Canary}]\nsequence: [a]\n",
    "foreign/several.yaml": "rules: 1\n---\nrules: 2\n",
    "foreign/stack.yaml": "items: !Ref them\n",
    "foreign/template.yaml": "rules: {{ .Values.rules }}\n# as param_plan and boundary_classes in plans\n",
    "foreign/list.yaml": "- rules\n",
    "foreign/schema.json": '{"properties": {"param_plan": {}, "rules": {}}}',
    "foreign/empty.yaml": "",
    "foreign/latin.yaml": "rules: caf\u00e9\n",
}
OURS = [
    "plans/deep/er/plan.json",
    "plans/many.yaml",
    "plans/moe.rules.yaml",
    "plans/plan2.yml",
    "plans/plan10.yaml",
    "plans/s.yaml",
    "plans/slip.rules.yaml",
    "plans/torn.json",
    "plans/torn.rules.yaml",
    "plans/torn.yaml",
    "plans/w.yaml",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with documents, hidden files, and files of others."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="latin-1" if "latin" in name else "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_by(hpplan: Runner, *arguments: str) -> list[str]:
    """Return the files that validate read, in any outcome of theirs."""
    report = hpplan("validate", *arguments, "--output-format", "junit").stdout
    return [line.split('"')[1] for line in report.splitlines() if "<testsuite " in line]


@pytest.mark.parametrize("start", [".", "plans", "./plans/", "plans/../plans"])
def test_a_folder(hpplan: Runner, start: str) -> None:
    """A folder stands for every document below it: nothing hidden, nothing of others, nothing left out."""
    before = "" if start == "." else start.rstrip("/").removesuffix("plans")
    assert sorted(read_by(hpplan, start)) == sorted(before + name for name in OURS)


def test_what_is_broken_is_not_foreign(hpplan: Runner) -> None:
    """A plan that does not parse any more passes for a file of somebody else, and the commit goes through."""
    result = hpplan("validate", "plans", "--output-format", "concise")
    assert result.status == 1
    for name in (
        "torn.yaml:2:18: HP002",
        "torn.json:1:46: HP003",
        "torn.rules.yaml:3:1: HP002",
        "slip.rules.yaml:1:9: HP101",
    ):
        assert f"plans/{name}" in result.stdout
    assert result.stderr.endswith(f" in {len(OURS)} files.\n")


def test_the_order_is_that_of_names(hpplan: Runner) -> None:
    """Which file comes first depends on the disk."""
    for name in ("plans/torn.yaml", "plans/torn.json"):
        Path(name).unlink()  # torn rules are none of a plan's
    for name in ("plans/plan10.yaml", "plans/plan2.yml"):
        Path(name).write_text(STALE, encoding="utf-8")
    written = hpplan("normalize", "--write", "plans").stderr.splitlines()
    assert [line.partition(":")[0] for line in written] == [
        "plans/deep/er/plan.json",
        "plans/plan2.yml",
        "plans/plan10.yaml",
    ]


def test_what_was_skipped(hpplan: Runner) -> None:
    """Whoever wonders why a file was not looked at has nowhere to ask."""
    shown = hpplan("normalize", "--check", "--show-skipped", "plans", "foreign").stderr.splitlines()
    assert "plans/moe.rules.yaml: skipped: it holds rules" in shown
    assert "plans/w.yaml: skipped: it is a workload" in shown
    assert "foreign/role.yaml: skipped: it is no document of hpplan" in shown
    assert "skipped" not in hpplan("normalize", "--check", "plans").stderr


def test_nothing_in_a_folder(hpplan: Runner) -> None:
    """A gate that looks into the wrong folder passes for ever."""
    for command, what in (("normalize", "plan"), ("validate", "document of hpplan")):
        told = f"Error: There is no {what} in foreign. --show-skipped names what is there.\n"
        assert hpplan(command, "foreign") == (2, "", told)
    Path("empty").mkdir()
    assert hpplan("validate", "empty") == (2, "", "Error: There is no document of hpplan in empty.\n")
    assert hpplan("validate", "plans/deep", "empty").status == 2


def test_patterns(hpplan: Runner) -> None:
    """A shell that expands nothing hands over the pattern itself."""
    assert read_by(hpplan, "plans/plan*") == ["plans/plan10.yaml", "plans/plan2.yml"]
    assert read_by(hpplan, "**/plan.json", "plans/deep") == ["plans/deep/er/plan.json"]
    assert hpplan("validate", "x*.yaml") == (2, "", "Error: No file matches 'x*.yaml'.\n")
    # As a pattern this takes a minute.
    assert hpplan("validate", "[" * 20_000 + "*").stderr.endswith("*: file name too long.\n")
    Path("plan[1].yaml").write_text(PLAN, encoding="utf-8")
    assert read_by(hpplan, "plan[1].yaml") == ["plan[1].yaml"]
    # What a pattern stands for is named, as if the shell had expanded it.
    assert hpplan("normalize", "--check", "plans/*.rules.yaml").status == 2


def test_a_file_that_is_named_twice(hpplan: Runner) -> None:
    """A plan is written twice, or counted twice."""
    Path("link.yaml").symlink_to("plans/plan2.yml")
    result = hpplan("validate", "plans/plan2.yml", "plans/plan2.y*", "./plans/plan2.yml", "link.yaml")
    assert result == (0, "", "No findings in 1 file.\n")


def test_files_of_others_that_are_named(hpplan: Runner) -> None:
    """A hook that is handed every YAML file of a commit fails over those that hpplan has no business with."""
    foreign = [name for name in FILES if name.startswith("foreign/")]
    assert hpplan("validate", "--skip-foreign", *foreign) == (0, "", "No findings in 0 files.\n")
    assert hpplan("normalize", "--write", "--skip-foreign", *foreign, "plans/w.yaml") == (0, "", "")
    assert hpplan("normalize", "--skip-foreign", *foreign) == (0, "", "")
    for name, text in FILES.items():
        assert Path(name).read_text(encoding="latin-1" if "latin" in name else "utf-8") == text
    assert hpplan("validate", *foreign).status == 1


def test_one_file_by_a_pattern(hpplan: Runner) -> None:
    """A command that takes one file takes the first that matches, or none."""
    assert hpplan("route", "plans/w.y*", "--mesh", "cp=2").status == 0
    assert hpplan("explain", "plans/deep/*/plan.json", "a").status == 0
    result = hpplan("route", "plans/*.yaml", "--mesh", "cp=2")
    assert (result.status, result.stdout) == (2, "")
    assert "'plans/*.yaml' matches 8 files; name one of them" in result.stderr


def test_batches(hpplan: Runner) -> None:
    """A data loader's shards have to be named one by one."""
    sample = '{"input_ids": [1, 9, 9, 2], "image_rows": [2]}\n'
    for name in ("batches/b10.jsonl", "batches/b2.jsonl", "batches/more.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(sample, encoding="utf-8")
    options = ("--model", "custom", "--image-id", "9", "--feature-width", "8")
    assert "of 2 samples" in hpplan("workload", "batches", *options).stderr
    assert "of 3 samples" in hpplan("workload", "batches/*.json*", *options).stderr
    told = "Error: There is no batch in plans: no name there ends in .jsonl.\n"
    assert hpplan("workload", "plans", *options) == (2, "", told)


@pytest.mark.parametrize("command", [["validate"], ["normalize", "--check"]])
def test_what_is_named_and_missing(hpplan: Runner, command: list[str]) -> None:
    """A typing error in a hook's arguments goes unnoticed."""
    result = hpplan(*command, "--skip-foreign", "missing.yaml")
    assert (result.status, result.stdout) == (2, "")
    assert "Cannot read missing.yaml: there is no such file or folder." in result.stderr


def test_several_plans_in_a_folder(hpplan: Runner) -> None:
    """One of them goes to standard output as if it were all, or -o gets the last."""
    for name in ("plans/torn.yaml", "plans/torn.json"):
        Path(name).unlink()  # torn rules are none of a plan's
    several = hpplan("normalize", "plans")
    assert (several.status, several.stdout) == (2, "")
    assert "several plans need -w, --check, --diff or --changes" in several.stderr
    assert "-o names one file for several plans" in hpplan("normalize", "plans", "-o", "x.yaml").stderr
    assert hpplan("normalize", "plans/deep").stdout.startswith("{")
