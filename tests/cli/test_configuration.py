"""A configuration file: what is found in it, where it is found, and what the commands make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hpplan.documents.configuration_codes import CODES

if TYPE_CHECKING:
    from conftest import Runner

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
MOE = """\
mesh_dim_names: [tp]
boundary_classes: {l.0.mlp: DeepseekV3MoE, l.0.mlp.shared_experts: M}
param_plan: {l.0.mlp: {is_boundary: true}, l.0.mlp.shared_experts: {is_boundary: true}}
external_state_classes: [DeepseekV3MoE]
"""
DENSE = "boundary_classes: {norm: N}\nparam_plan: {norm: {is_boundary: true}}\n"
RULES = f"rules: [{{match: '*.mlp', local_compute_fn: {EP}}}]\n"
WORKLOAD = "feature_width: 1\nsequence: {length: 4}\nitems: []\n"

CONFIGURATION = """\
[[plans]]
files = "plans/moe.yaml"
rules = "{folder}/{name}.rules.yaml"
normalized = "{folder}/{name}.normalized.yaml"
bare = true

[[plans]]
files = "plans"
"""

CASES: list[Any] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "configuration.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with two plans, rules for one of them, and a configuration."""
    (tmp_path / "plans").mkdir()
    for name, text in (
        ("plans/moe.yaml", MOE),
        ("plans/moe.rules.yaml", RULES),
        ("plans/dense.yaml", DENSE),
        ("hpplan.toml", CONFIGURATION),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(text: str, name: str = "hpplan.toml") -> None:
    """Write another configuration."""
    Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
@pytest.mark.parametrize("shared", [False, True], ids=["hpplan.toml", "pyproject.toml"])
def test_what_is_wrong_with_it(hpplan: Runner, case: dict[str, Any], shared: bool) -> None:
    """A slip in the file that pairs plans with rules goes unnoticed, or is looked for in the wrong line."""
    text, down = case["text"], 0
    if shared:
        above, tables, below = text.partition("[[plans]]")
        if "[plans]" in text.replace("[[plans]]", ""):
            return
        text = f"[tool.hpplan]\n{above}{tables}{below}".replace("[[plans]]", "[[tool.hpplan.plans]]")
        down = 1
        Path("hpplan.toml").unlink()
    configure(text, "pyproject.toml" if shared else "hpplan.toml")
    named = [case["named"]] if "named" in case else []
    report = json.loads(hpplan("validate", *named, "--output-format", "json").stdout)
    # The plans are not normalized, which is for other tests.
    report = [one for one in report if one["code"] != "HP222"]
    found = {(one["code"], one["line"], one["column"]) for one in report}
    assert found == {(code, line + down, column) for code, line, column in case["expect"]}
    assert {one["file"] for one in report} <= {"pyproject.toml" if shared else "hpplan.toml"}
    # Whoever normalizes hears of it as well, and nothing is written.
    before = {path: path.read_bytes() for path in Path().rglob("*.yaml")}
    for arguments in (["--check"], ["--write"]):
        normalized = hpplan("normalize", *named, *arguments)
        for code, line, column in case["expect"]:
            assert f":{line + down}:{column}: {code} error: " in normalized.stderr
        if case["expect"]:
            assert (normalized.status, normalized.stdout) == (1, "")
            assert {path: path.read_bytes() for path in Path().rglob("*.yaml")} == before


def test_every_code_has_a_case() -> None:
    """A finding that nothing trips is one that nobody knows to work."""
    tripped = {code for case in CASES for code, _, _ in case["expect"]}
    assert tripped >= {code.id for code in CODES}


def test_normalize_without_arguments(hpplan: Runner) -> None:
    """The one line in CI does something else than a line for each plan would."""
    new = "plans/moe.normalized.yaml: is not there yet; `hpplan normalize --write` makes it\n"
    assert hpplan("normalize", "--check") == (1, new, "")
    written = hpplan("normalize", "--write").stderr
    assert written == (
        "plans/moe.normalized.yaml: 2 boundaries stripped (ep-strip 2)\n"
        "plans/dense.yaml: already normalized\n"
    )
    assert Path("plans/moe.yaml").read_text(encoding="utf-8") == MOE
    made = Path("plans/moe.normalized.yaml").read_bytes()
    assert hpplan("normalize", "--check") == (0, "", "")
    for path in ("plans/moe.yaml", "plans/moe.normalized.yaml", "plans"):
        assert hpplan("normalize", "--check", path) == (0, "", "")
    by_hand = ("--rules", "plans/moe.rules.yaml", "--bare", "-o", "by_hand.yaml")
    assert hpplan("--no-config", "normalize", "plans/moe.yaml", *by_hand).status == 0
    assert Path("by_hand.yaml").read_bytes() == made
    Path("plans/moe.normalized.yaml").write_bytes(made.replace(b"false", b"true"))
    stale = hpplan("normalize", "--check")
    assert stale.status == 1
    assert stale.stdout.startswith("--- plans/moe.normalized.yaml\n")
    assert "+++ plans/moe.normalized.yaml (normalized)\n" in hpplan("normalize", "--diff").stdout


def test_validate_without_arguments(hpplan: Runner) -> None:
    """A file that belongs to a plan is not looked at, or a plan is looked at without what belongs to it."""
    Path("plans/w.yaml").write_text(WORKLOAD, encoding="utf-8")
    configure(CONFIGURATION.replace("bare = true", 'workload = "plans/w.yaml"'))
    found = hpplan("validate", "--output-format", "concise")
    assert found.status == 1
    assert "plans/moe.yaml:3:14: HP222 error: this plan is not normalized" in found.stdout
    assert found.stderr == "1 error in 4 files.\n"
    hpplan("normalize", "--write")
    assert hpplan("validate") == (0, "", "No findings in 5 files.\n")
    # What a plan is normalized into is looked at wherever the plan is.
    assert hpplan("validate", "plans/moe.yaml") == (0, "", "No findings in 3 files.\n")
    Path("plans/w.yaml").write_text(WORKLOAD.replace("1", "one"), encoding="utf-8")
    Path("plans/moe.rules.yaml").write_text(RULES.replace("mlp", "moe"), encoding="utf-8")
    found = hpplan("validate", "--output-format", "concise")
    assert found.status == 1
    assert "plans/w.yaml:1:16: HP412 error" in found.stdout
    assert "plans/moe.rules.yaml:1:9: HP302 warning" in found.stdout


def test_settings_of_findings(hpplan: Runner) -> None:
    """What one team leaves out, or takes seriously, is nothing to another."""
    own = ("plans/moe.yaml", "--rules", "plans/moe.rules.yaml", "--bare", "--write")
    assert hpplan("--no-config", "normalize", *own).status == 0
    Path("hpplan.toml").write_text('[[plans]]\nfiles = "plans"\n', encoding="utf-8")
    for name in ("moe", "dense"):
        plan = Path(f"plans/{name}.yaml")
        plan.write_text(plan.read_text(encoding="utf-8") + "typo: 1\n", encoding="utf-8")
    assert hpplan("validate").status == 0
    configure(
        'strict = true\n[[plans]]\nfiles = "plans/moe.yaml"\n[[plans]]\nfiles = "plans"\nstrict = false\n'
    )
    found = hpplan("validate", "--output-format", "concise")
    assert found.status == 1
    assert "plans/moe.yaml:5:1: HP111 error" in found.stdout
    assert "plans/dense.yaml:3:1: HP111 warning" in found.stdout
    configure(
        '[[plans]]\nfiles = "plans/moe.yaml"\nignore = "HP1"\n[[plans]]\nfiles = "plans"\nselect = "HP112"\n'
    )
    assert hpplan("validate").stderr == "No findings in 2 files.\n"
    assert "HP111" in hpplan("validate", "--select", "HP111").stdout


def test_options_win(hpplan: Runner) -> None:
    """What somebody types counts less than a file that somebody else wrote."""
    Path("none.yaml").write_text("rules: []\n", encoding="utf-8")
    assert "ep-strip" in hpplan("normalize", "plans/moe.yaml", "--changes").stdout
    for before, after in (((), ("--rules", "none.yaml")), (("--no-config",), ())):
        said = hpplan(*before, "normalize", "plans/moe.yaml", "--changes", *after).stdout
        assert "ep-strip" not in said
    configure("strict = true\n", "other.toml")
    said = hpplan("--config", "other.toml", "normalize", "plans/moe.yaml", "--changes").stdout
    assert "ep-strip" not in said


def test_where_it_is_found(hpplan: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same plan is checked with its rules in one folder, and without them in another."""
    changes = hpplan("normalize", "plans/moe.yaml", "--changes").stdout
    assert "ep-strip" in changes
    monkeypatch.chdir("plans")
    assert hpplan("normalize", "moe.yaml", "--changes").stdout.endswith(changes.partition(":")[2])
    assert hpplan("normalize", "--check").stdout.startswith("moe.normalized.yaml: is not there")
    Path("deep").mkdir()
    monkeypatch.chdir("/")
    named = str(folder / "plans" / "moe.yaml")
    assert hpplan("normalize", named, "--changes").stdout == changes.replace(
        "plans/moe", f"{folder}/plans/moe", 1
    )
    # The nearest counts alone; a shared file without a table of ours is no configuration.
    configure('[project]\nname = "hpplan"\n', str(folder / "plans" / "pyproject.toml"))
    assert "ep-strip" in hpplan("normalize", named, "--changes").stdout
    configure("[tool.hpplan]\nbare = true\n", str(folder / "plans" / "pyproject.toml"))
    assert "ep-strip" not in hpplan("normalize", named, "--changes").stdout
    configure("", str(folder / "plans" / "hpplan.toml"))
    assert "ep-strip" not in hpplan("normalize", named, "--changes").stdout


@pytest.mark.parametrize("command", ["normalize", "validate"])
def test_nothing_names_plans(hpplan: Runner, command: str) -> None:
    """A call without arguments passes although it looked at nothing."""
    configure("strict = true\n")
    result = hpplan(command)
    assert (result.status, result.stdout) == (2, "")
    assert "and hpplan.toml names no plans; give it a table [[plans]]." in result.stderr
    assert "no hpplan.toml here or above names plans" in hpplan("--no-config", command).stderr
    configure("[tool.poetry]\n", "pyproject.toml")
    told = "Error: There is no table [tool.hpplan] in pyproject.toml.\n"
    assert hpplan("--config", "pyproject.toml", command) == (2, "", told)


def test_mesh_and_workload(hpplan: Runner) -> None:
    """The commands that route ask for what is written down already."""
    Path("w.yaml").write_text(WORKLOAD, encoding="utf-8")
    configure('mesh = "cp=2"\n[[plans]]\nfiles = "plans/moe.yaml"\nworkload = "w.yaml"\n')
    for path in ("plans/moe.yaml", "w.yaml"):
        assert "cp=2" in hpplan("route", path).stdout
        assert "cp=4" in hpplan("route", path, "--mesh", "cp=4").stdout
    assert "active axes: cp (from --mesh)" in hpplan("explain", "plans/moe.yaml").stdout
    plan = Path("plans/moe.yaml").read_text(encoding="utf-8").replace("[tp]", "[cp]")
    Path("plans/moe.yaml").write_text(plan, encoding="utf-8")
    assert hpplan("compile", "plans/moe.yaml", "-o", "out").status == 0
    assert Path("out/routes.json").exists()
    usage = hpplan("exec", "plans/moe.yaml").stderr
    assert "a job of 2 ranks" in usage or "needs PyTorch" in usage


def test_options_of_the_group_that_come_late(hpplan: Runner) -> None:
    """Somebody who looks for --config after the command is told that there is no such thing."""
    for option in ("--config", "--no-config"):
        said = hpplan("validate", option, "x").stderr
        assert f"{option} goes before the command: hpplan {option}" in said
    both = hpplan("--config", "hpplan.toml", "--no-config", "validate")
    assert both.status == 2
    assert "give one of them" in both.stderr


def test_a_table_among_plans_of_several_settings(hpplan: Runner) -> None:
    """A routing table is held against the plans of its own settings alone, which may be none."""
    exchange = "feature_exchange: {feature_width: 1, sequence: {length: 4}, items: []}\n"
    Path("plans/dense.yaml").write_text(f"{DENSE}parallel_dims: {{cp_size: 2}}\n{exchange}", encoding="utf-8")
    assert hpplan("route", "plans/dense.yaml", "--format", "json", "-o", "own.json").status == 0
    assert hpplan("route", "plans/dense.yaml", "--mesh", "cp=4", "-o", "other.json").status == 0
    assert "HP504" not in hpplan("validate", "plans", "own.json").stdout
    assert "HP504" in hpplan("validate", "plans", "other.json").stdout
