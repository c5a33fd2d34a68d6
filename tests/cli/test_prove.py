"""`hpplan prove` from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import ProcessRunner, Runner


@pytest.fixture
def model(root: Path) -> str:
    """Return a small configuration of the sample plan's model type."""
    return str(root / "tests" / "models" / "configs" / "llama.json")


@pytest.fixture
def plan(hpplan: Runner, model: str, tmp_path: Path) -> Path:
    """Return the frozen plan of that model, whose MLPs leave the sum out."""
    path = tmp_path / "plan.yaml"
    assert hpplan("freeze", model, "--mesh", "tp=2,sp", "-o", str(path)).status == 0
    head, mlp, rest = path.read_text(encoding="utf-8").partition("  model.layers.1.mlp:\n    params:")
    path.write_text(head + mlp + rest.replace("P(sum)", "R", 1), encoding="utf-8")
    return path


def test_a_report_for_people_and_one_for_programs(
    hpplan_process: ProcessRunner, plan: Path, model: str, root: Path
) -> None:
    """Status, place and way out are what CI shows of a plan that trains wrong."""
    result = hpplan_process("prove", str(plan), "--model", model, "--launch", "2")
    assert result.status == 1
    assert result.stdout.startswith("proven  no: 1 of 11 modules that ran differ, first model.layers.1.mlp\n")
    assert "LlamaMLP             1        1        0\n" in result.stdout
    assert (
        f"{plan}:86:28: HP251 error: model.layers.1.mlp is not what the whole model has there"
        in result.stderr
    )
    assert "hint: `out_src.output.tp` P(sum) would be right, not R" in result.stderr
    target = plan.with_name("proof.json")
    result = hpplan_process("prove", str(plan), "--model", model, "--format", "json", "-o", str(target))
    assert (result.status, result.stdout) == (1, "")
    report = json.loads(target.read_text(encoding="utf-8"))
    schema = json.loads((root / "schemas" / "proof.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    (wrong,) = [one for one in report["boundaries"] if one["status"] == "differs"]
    path = ["out_src", "output", "tp"]
    assert wrong["remedies"] == [{"path": path, "was": "R", "right": "P(sum)"}]
    assert (report["proven"], report["mesh"], report["model"]) == (False, "tp=2,sp", "LlamaForCausalLM")
    assert report["why"].startswith("logits differ by ")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 2, "Missing option '--model'"),
        (("--model", "{model}", "--launch", "3"), 2, "3 processes are not the cp x tp = 2 of the mesh"),
        (("--model", "{model}", "--mesh", "tp=2"), 1, "HP441"),
        (("--model", "{model}", "--mesh", "tp=x"), 2, "tp"),
        (("--model", "{plan}"), 2, "is a plan, and `hpplan prove --model` takes a model's config.json"),
        (("--model", "{model}", "-o", "{plan}"), 2, "-o {plan} would overwrite what is read from it"),
    ],
)
def test_what_cannot_be_proven(
    hpplan: Runner, plan: Path, model: str, arguments: tuple[str, ...], status: int, said: str
) -> None:
    """Each is refused before a process starts."""
    names = {"model": model, "plan": str(plan)}
    result = hpplan("prove", str(plan), *(argument.format(**names) for argument in arguments))
    assert (result.status, result.stdout) == (status, "")
    assert said.format(**names) in " ".join(result.stderr.split())


def test_a_mesh_that_cuts_nothing(hpplan: Runner, model: str, tmp_path: Path) -> None:
    """A proof of nothing must not pass for one."""
    plan = tmp_path / "plan.yaml"
    plan.write_text("param_plan: {}\nboundary_classes: {}\n", encoding="utf-8")
    for arguments, said in (((), "give a mesh"), (("--mesh", "dp=4"), "has neither cp nor tp")):
        result = hpplan("prove", str(plan), "--model", model, *arguments)
        assert (result.status, result.stdout) == (2, "")
        assert said in result.stderr


@pytest.mark.slow
def test_four_commands_from_a_configuration_to_a_proof(
    hpplan_process: ProcessRunner, root: Path, tmp_path: Path
) -> None:
    """README's own four, whose last says that what a job will run computes what the model does."""
    model = str(root / "tests" / "models" / "configs" / "qwen3_moe.json")
    names = {one: str(tmp_path / f"{one}.yaml") for one in ("plan", "rules", "normalized")}
    readme = (root / "README.md").read_text(encoding="utf-8")
    commands = readme.partition("## From a model to a plan")[2].split("```sh\n")[1].partition("```")[0]
    for line in commands.splitlines():
        words = line.removeprefix("hpplan ").split()
        known = {
            "config.json": model,
            "plan.yaml": names["plan"],
            "plan.rules.yaml": names["rules"],
            "plan.normalized.yaml": names["normalized"],
        }
        result = hpplan_process(*(known.get(word, word) for word in words))
        assert result.status == 0, (line, result)
    assert result.stdout.startswith("proven  yes: ")
