"""The hooks that other repositories run, and the completion of a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml

from hpplan.cli.completion import complete_passes

if TYPE_CHECKING:
    from conftest import Runner

PLAN = "param_plan: {a: {is_boundary: true}}\nboundary_classes: {a: M}\nexternal_state_classes: [M]\n"


@pytest.fixture
def hooks(root: Path) -> dict[str, dict[str, Any]]:
    """Return the hooks by their id."""
    loaded = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return {hook["id"]: hook for hook in loaded}


def test_the_hooks_run(hpplan: Runner, hooks: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """A hook whose command does not parse fails in every repository that uses it."""
    plan = tmp_path / "my_plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    assert hooks.keys() == {"hpplan-normalize", "hpplan-validate"}
    for hook in hooks.values():
        assert re.search(hook["files"], str(plan))
        program, *arguments = hook["entry"].split()
        assert program == "hpplan"
        assert hpplan(*arguments, str(plan)).status == 0
    assert "is_boundary: false" in plan.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "taken_by"),
    [
        ("plans/deepseek_v3.yaml", "both"),
        ("sample_plans/deepseek_v3.yaml", "both"),
        ("training/plans/v2/llama.yml", "both"),
        ("llama_plan/stage_0.json", "both"),
        ("my_plan.yaml", "both"),
        ("configs/plan.json", "both"),
        ("codegen_meta.json", "both"),
        ("out/llama/codegen_meta.json", "both"),
        ("out/deepseek_v3.codegen_meta.json", "both"),
        ("sample_plans/broken/foreign-routes.yaml", "both"),
        ("my_plan.rules.yaml", "validate"),
        ("plans/llama.rules.yaml", "validate"),
        ("plans/rules.yaml", "validate"),
        ("plans/llama.strategies.yml", "validate"),
        ("sample_plans/workloads/mixed.yaml", "validate"),
        ("plans/llama.workload.yaml", "validate"),
        ("plans/llama.routes.json", "validate"),
        ("plans/routes/llama.json", "validate"),
        ("plans/README.md", "none"),
        ("sample_plans/batches/qwen3_vl.jsonl", "none"),
        ("plans.d/x.yaml", "none"),
        ("configs/train.yaml", "none"),
        ("my_plan.yaml.bak", "none"),
        ("floorplans/x.yaml", "none"),
    ],
)
def test_the_files_that_the_hooks_take(hooks: dict[str, dict[str, Any]], path: str, taken_by: str) -> None:
    """A plan that no hook looks at is not checked; normalizing what is no plan fails the commit."""
    takes = {
        name: bool(re.search(hook["files"], path) and not re.search(hook.get("exclude", "^$"), path))
        for name, hook in hooks.items()
    }
    assert takes == {"hpplan-normalize": taken_by == "both", "hpplan-validate": taken_by != "none"}


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
        ("validate --select HP22", ["HP221"]),
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


@pytest.mark.parametrize(
    ("option", "typed", "offered"),
    [
        ("pass_names", "", ["ep-strip", "external-state-strip", "shared-class-mark"]),
        ("pass_names", "e", ["ep-strip", "external-state-strip"]),
        ("pass_names", "ep-strip,e", ["ep-strip,external-state-strip"]),
        ("print_after", "", ["ep-strip", "external-state-strip", "shared-class-mark", "all"]),
        ("print_after", "a", ["all"]),
    ],
)
def test_passes_are_completed(option: str, typed: str, offered: list[str]) -> None:
    """Nobody remembers the names of passes."""
    context = click.Context(click.Command("normalize"))
    items = complete_passes(context, click.Option([f"--{option}"]), typed)
    assert [item.value for item in items] == offered
