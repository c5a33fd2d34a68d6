"""`hpplan freeze`, and `--model` of `hpplan validate`, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import ProcessRunner, Runner

# An interpreter in which transformers cannot be found, as where the extra is not installed.
WITHOUT = """\
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "transformers" else find(name, package)
sys.modules["transformers"] = None
from hpplan.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture
def config(root: Path) -> Path:
    """Return the folder of small configurations."""
    return root / "tests" / "models" / "configs"


def test_four_commands_from_a_configuration(hpplan: Runner, config: Path, tmp_path: Path) -> None:
    """Each takes what the one before wrote, and none finds anything."""
    model, plan, rules = (
        str(config / "deepseek_v3.json"),
        str(tmp_path / "plan.yaml"),
        str(tmp_path / "r.yaml"),
    )
    result = hpplan("freeze", model, "--mesh", "cp=2,tp=4,ep=8,sp", "-o", plan, "--rules-out", rules)
    assert (result.status, result.stdout) == (0, "")
    assert result.stderr == (
        "Note: transformers has no rule for model.layers.{0,1}.self_attn (14 parameters); "
        "listed under `not_covered`.\n"
        "Note: attention under context parallelism needs a strategy, as an `inner_wrapper` rule.\n"
    )
    normalized = str(tmp_path / "normalized.yaml")
    result = hpplan("normalize", plan, "--rules", rules, "-o", normalized)
    assert (
        result.stderr == f"{normalized}: 2 boundaries stripped (ep-strip 2), 1 marked (shared-class-mark)\n"
    )
    result = hpplan("validate", plan, normalized, "--rules", rules, "--model", model)
    assert (result.status, result.stdout, result.stderr) == (0, "", "No findings in 4 files.\n")


def test_without_options(hpplan: Runner, config: Path, tmp_path: Path) -> None:
    """A plan for a mesh that nobody asked for must say so; a folder stands for its config.json."""
    (tmp_path / "config.json").write_bytes((config / "llama.json").read_bytes())
    result = hpplan("freeze", str(tmp_path))
    assert result.status == 0
    assert result.stderr == "Note: frozen for tp=2,sp; --mesh freezes for another.\n"
    data = yaml.safe_load(result.stdout)
    assert data["parallel_dims"]["tp_size"] == 2
    assert (data["model_type"], data["model_class"]) == ("llama", ["LlamaForCausalLM"])
    as_json = hpplan("freeze", str(tmp_path), "--format", "json")
    assert json.loads(as_json.stdout) == data
    named = tmp_path / "plan.json"
    assert hpplan("freeze", str(tmp_path), "--mesh", "tp=2,sp", "-o", str(named)).status == 0
    assert named.read_text(encoding="utf-8") == as_json.stdout


def test_a_mesh_that_does_not_divide(hpplan: Runner, config: Path, tmp_path: Path) -> None:
    """Nothing is written for a mesh on which no job starts; both of these have 4 key-value heads."""
    target = tmp_path / "plan.yaml"
    result = hpplan("freeze", str(config / "llama.json"), "--mesh", "tp=8", "-o", str(target))
    assert (result.status, result.stdout, target.exists()) == (2, "", False)
    assert result.stderr == "".join(
        f"--mesh:1:4: HP244 error: tp=8 does not divide the 4 key-value heads of `{name}_proj.weight` in "
        "'model.layers.{0,1}.self_attn'\n  hint: tp may be 4\n"
        for name in "kv"
    )
    plan = str(tmp_path / "p.yaml")
    assert hpplan("freeze", str(config / "llama.json"), "--mesh", "tp=4", "-o", plan).status == 0
    found = hpplan("validate", plan, "--model", str(config / "llama.json"), "--mesh", "tp=8")
    assert found.status == 1
    assert found.stdout.count("HP244 error: tp=8 does not divide the 4 key-value heads") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no-such.json",), "no-such.json"),
        (("{config}", "--mesh", "tp=x"), "HP404"),
        (("{config}", "--mesh", "tp=2,ep=2"), "no expert-parallel plan for LlamaForCausalLM"),
        (("{config}", "-o", "{config}"), "would overwrite what is read from it"),
        (("{config}", "--rules-out", "-"), "need a file each"),
        (("{plan}",), "is a plan, and `hpplan freeze` takes a model's config.json."),
    ],
)
def test_wrong_calls(hpplan: Runner, root: Path, config: Path, arguments: tuple[str, ...], said: str) -> None:
    """Standard output stays empty, and the message says what to type instead."""
    names = {"config": config / "llama.json", "plan": root / "sample_plans" / "llama3_8b.yaml"}
    result = hpplan("freeze", *(argument.format(**names) for argument in arguments))
    assert result.status in {1, 2}
    assert result.stdout == ""
    assert said in result.stderr


def test_a_configuration_is_no_document_to_validate(hpplan: Runner, config: Path) -> None:
    """It is what plans are held against."""
    path = str(config / "llama.json")
    assert f"Type `hpplan validate PLAN --model {path}`." in hpplan("validate", path).stderr
    assert f"Type `hpplan freeze {path}`." in hpplan("normalize", path).stderr


def test_a_broken_configuration_is_a_finding(hpplan: Runner, root: Path, tmp_path: Path) -> None:
    """The plan is still checked for all that needs no model."""
    broken = tmp_path / "config.json"
    broken.write_text('{\n  "model_type": "lama"\n}\n', encoding="utf-8")
    plan = str(root / "sample_plans" / "broken" / "dp-placement.yaml")
    result = hpplan("validate", plan, "--model", str(tmp_path), "--output-format", "concise")
    assert result.status == 1
    assert {line.split(" ")[1] for line in result.stdout.splitlines() if " error: " in line} == {
        "HP231",
        "HP205",
    }
    assert f"{broken}:2:17: HP231 error: the installed transformers has no 'lama'" in result.stdout


def test_a_configuration_file_names_the_model(
    hpplan: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In CI nobody types options: what a plan is held against stands beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "plan.json").write_bytes((config / "llama.json").read_bytes())
    (tmp_path / "hpplan.toml").write_text(
        '[[plans]]\nfiles = "plan.yaml"\nmodel = "models/{name}.json"\n', encoding="utf-8"
    )
    assert hpplan("freeze", str(config / "llama.json"), "-o", "plan.yaml").status == 0
    assert hpplan("validate").stderr == "No findings in 2 files.\n"
    text = (tmp_path / "plan.yaml").read_text(encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(text.replace("LlamaMLP", "QwenMLP"), encoding="utf-8")
    assert "HP243 error: 'model.layers.{0,1}.mlp' are LlamaMLP in the model" in hpplan("validate").stdout
    (tmp_path / "models" / "plan.json").unlink()
    assert "HP334" in hpplan("validate").stdout


@pytest.mark.parametrize("command", ["freeze", "validate", "prove"])
def test_without_the_extra(command: str, root: Path, config: Path) -> None:
    """Whoever has not installed it is told what to type; nothing else needs it."""
    plan, model = str(root / "sample_plans" / "llama3_8b.yaml"), str(config / "llama.json")
    held = [plan, "--model", model]
    arguments = {"freeze": [model], "validate": held, "prove": held}[command]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, command, *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: Reading a model needs transformers, which is not installed; in the folder of hpplan, type: "
        "python -m pip install '.[models]'\n"
    )


@pytest.mark.parametrize("arguments", [["freeze", "--help"], ["validate", "{plan}"]])
def test_what_needs_no_extra(arguments: list[str], root: Path) -> None:
    """A command that imports what it does not use fails where that is not installed."""
    plan = str(root / "sample_plans" / "broken" / "dp-placement.yaml")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *(argument.format(plan=plan) for argument in arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "HP205" in done.stdout or "--rules-out" in done.stdout
    assert "Error" not in done.stderr


@pytest.mark.slow
def test_same_bytes_everywhere(hpplan: Runner, hpplan_process: ProcessRunner, config: Path) -> None:
    """A plan is kept under version control: a difference must mean one."""
    arguments = ("freeze", str(config / "qwen2_moe.json"), "--mesh", "cp=2,tp=4,sp")
    elsewhere = hpplan_process(*arguments, PYTHONHASHSEED="1", LC_ALL="C")
    assert elsewhere == hpplan(*arguments)
    assert elsewhere.status == 0
