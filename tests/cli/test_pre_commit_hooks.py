"""The hooks that other repositories run, and the completion of a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
import yaml

from hpplan.cli.names import complete_passes
from hpplan.passes.pipeline import PASSES

if TYPE_CHECKING:
    from conftest import Result, Runner

PLAN = "param_plan: {a: {is_boundary: true}}\nboundary_classes: {a: M}\nexternal_state_classes: [M]\n"


FOREIGN = {
    "plans/values.yaml": "rules: {{ .Values.rules }}\n",
    "floor_plan.json": '{"items": [{"room": 1}], "replicas": 2}',
    "deploy/role.yaml": "rules:\n- apiGroups: ['']\n",
    "deploy/all.yaml": "a: 1\n---\nb: 2\n",
    "mkdocs.yml": "plugins: !!python/name:x.y\n",
    ".github/workflows/ci.yml": "on: push\nstrategies: [{kind: canary}]\n",
    "package.json": "{",
    "pyproject.toml": "[project]\nrules = 1\n",
}


@pytest.fixture
def hooks(root: Path) -> dict[str, list[str]]:
    """Return what each hook runs, by its id."""
    loaded = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for hook in loaded:
        # Nothing but its type keeps a file from a hook.
        assert hook["types_or"] == ["yaml", "json", "toml"]
        assert not hook.keys() & {"files", "exclude", "pass_filenames"}
    return {hook["id"]: hook["entry"].split() for hook in loaded}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the YAML and JSON files of a repository, as pre-commit hands them over: with files of others."""
    monkeypatch.chdir(tmp_path)
    ours = {
        "plan.yaml": PLAN,
        "configs/llama.yaml": PLAN,
        "configs/train.yaml": "plan_overrides: [{match: a, local_compute_fn: x.y}]\nlr: 1\n",
        "w.yaml": "feature_width: 1\nsequence: {length: 4}\nitems: []\n",
    }
    for name, text in {**ours, **FOREIGN}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    return [*ours, *FOREIGN]


def run_hook(hpplan: Runner, entry: list[str], *files: str) -> Result:
    """Run a hook as pre-commit does: its entry, and the names of files."""
    program, *arguments = entry
    assert program == "hpplan"
    return hpplan(*arguments, *files)


def test_the_hooks_run(hpplan: Runner, hooks: dict[str, list[str]], files: list[str]) -> None:
    """A file that is no plan fails the commit, or a plan with another name than plans have is let through."""
    assert hooks.keys() == {"hpplan-normalize", "hpplan-validate"}
    for hook in hooks.values():
        assert run_hook(hpplan, hook, *files).status == 0
    for name in ("plan.yaml", "configs/llama.yaml"):
        text = Path(name).read_text(encoding="utf-8")
        assert "is_boundary: false" in text
    for name, text in FOREIGN.items():
        assert Path(name).read_text(encoding="utf-8") == text
    again = {name: Path(name).read_bytes() for name in files}
    assert run_hook(hpplan, hooks["hpplan-normalize"], *files).status == 0
    assert {name: Path(name).read_bytes() for name in files} == again


def test_a_commit_of_files_of_others(hpplan: Runner, hooks: dict[str, list[str]], files: list[str]) -> None:
    """A commit without a single document of ours fails."""
    for hook in hooks.values():
        assert run_hook(hpplan, hook, *(name for name in files if name in FOREIGN)).status == 0


def test_what_is_wrong_fails_the_commit(
    hpplan: Runner, hooks: dict[str, list[str]], files: list[str]
) -> None:
    """A plan that is broken passes for a file of others."""
    for text in ("param_plan: {a: [}\nboundary_classes: {}\n", "param_plan: {a: {is_boundary: maybe}}\n"):
        Path("configs/llama.yaml").write_text(text, encoding="utf-8")
        for hook in hooks.values():
            result = run_hook(hpplan, hook, *files)
            assert result.status == 1
            assert "configs/llama.yaml:1:" in result.stdout + result.stderr
        assert Path("plan.yaml").read_text(encoding="utf-8") == PLAN


def test_hooks_and_a_configuration(hpplan: Runner, hooks: dict[str, list[str]], files: list[str]) -> None:
    """A hook writes a plan over itself whose normalized plan is another file, or leaves that as it was."""
    Path("hpplan.toml").write_text(
        '[[plans]]\nfiles = "configs/llama.yaml"\nnormalized = "{folder}/{name}.normalized.yaml"\n',
        encoding="utf-8",
    )
    hook = hooks["hpplan-normalize"]
    # By the plan, by what it is normalized into, and by no name at all, as with pass_filenames: false.
    for names in ([*files], ["configs/llama.normalized.yaml"], []):
        made = Path("configs/llama.normalized.yaml")
        made.write_text(PLAN, encoding="utf-8")
        assert run_hook(hpplan, hook, *names).status == 0
        assert Path("configs/llama.yaml").read_text(encoding="utf-8") == PLAN
        assert "is_boundary: false" in made.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("hpplan val", "plain,validate"),
        ("hpplan explain HP21", "plain,HP213"),
        ("hpplan explain one-", "plain,one-sided-contract"),
        ("hpplan explain sample", "file,sample"),
        ("hpplan validate --select HP2,HP31", "plain,HP2,HP311"),
        ("hpplan validate --output-format s", "plain,sarif"),
        ("hpplan validate --select ", "plain,HP001"),
        ("hpplan schema ", "plain,micro-batches"),
        ("hpplan schema r", "plain,rules"),
    ],
)
def test_completion(words: str, completed: str) -> None:
    """Completion that fails prints a traceback into the line that somebody is typing."""
    environment = {
        **os.environ,
        "_HPPLAN_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    script = str(Path(sys.executable).with_name("hpplan"))
    done = subprocess.run([script], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert completed in done.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("explain HP21", ["HP211", "HP212", "HP213", "HP214", "HP215"]),
        ("validate --select HP22", ["HP221", "HP222"]),
        ("schema w", ["workload"]),
        ("explain sample_", []),  # left to the shell, which knows the files
    ],
)
def test_what_bash_offers(words: str, offered: list[str]) -> None:
    """Bash drops what comes before a word for files, and then offers nothing."""
    folder = Path(sys.executable).parent
    script = (
        'eval "$(_HPPLAN_COMPLETE=bash_source hpplan)"\n'
        "compopt() { :; }\n"
        f"COMP_WORDS=(hpplan {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()\n"
        '_hpplan_completion hpplan; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, check=False)
    assert done.stdout.decode().split() == offered


NAMES = [step.name for step in PASSES]


@pytest.mark.parametrize(
    ("option", "typed", "offered"),
    [
        ("pass_names", "", NAMES),
        ("pass_names", "e", ["ep-strip", "external-state-strip"]),
        ("pass_names", "ep-strip,e", ["ep-strip,external-state-strip"]),
        ("print_after", "", [*NAMES, "all"]),
        ("print_after", "a", ["all"]),
    ],
)
def test_passes_are_completed(option: str, typed: str, offered: list[str]) -> None:
    """Nobody remembers the names of passes."""
    context = click.Context(click.Command("normalize"))
    items = complete_passes(context, click.Option([f"--{option}"]), typed)
    assert [item.value for item in items] == offered
