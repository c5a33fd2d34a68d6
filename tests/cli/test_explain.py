"""`hpplan explain`: codes, plans, and single modules of a plan."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from hpplan.documents.reader import parse_document
from hpplan.plan.model import load_plan
from hpplan.reports.explain.plan import render
from hpplan.reports.terminal.screen import Screen
from hpplan.validation.catalog import all_codes
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

    from hpplan.diagnostics import Code

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"

PLAN = """\
mesh_dim_names: [cp, tp]
external_state_classes: [DeepseekV3MoE]
boundary_classes:
  l.0.mlp: DeepseekV3MLP
  l.1.mlp: DeepseekV3MoE
  l.1.mlp.shared_experts: DeepseekV3MLP
  norm: RMSNorm
param_plan:
  l.0.mlp: &mlp
    in_src: {x: {tp: S(1), cp: S(1)}}
    in_dst: {x: {tp: R, cp: S(1)}}
    out_src: {z: {tp: P(sum), cp: S(1)}}
    out_dst: {z: {tp: S(1), cp: S(1)}}
    is_boundary: true
  l.1.mlp: {is_boundary: true}
  l.1.mlp.shared_experts: *mlp
  norm: {in_src: {x: {}}, in_dst: {x: {}}}
  rotary: {params: {w: {}}}
"""

RULES = f"""\
rules:
  - match: [nothing, "*.mlp"]
    local_compute_fn: {EP}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a plan and its rules."""
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("code", all_codes()[::9], ids=lambda code: code.id)
def test_codes(hpplan: Runner, code: Code) -> None:
    """What a code's file says about it is what people get to read."""
    for text in (code.id, code.name):
        result = hpplan("explain", text)
        assert result.status == 0
        assert result.stdout == f"{code.id} {code.name} ({code.severity})\n\n{code.doc}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HP999", "Error: There is no code HP999. `hpplan explain --all` lists them.\n"),
        (
            "dp-placemen",
            "Error: There is neither a file nor a code called 'dp-placemen'. Did you mean dp-placement?\n",
        ),
        ("zzz.yaml", "Error: Cannot read zzz.yaml: there is no such file or folder.\n"),
    ],
)
def test_neither_code_nor_plan(hpplan: Runner, text: str, message: str) -> None:
    """A misspelt code must not be reported as a missing file."""
    assert hpplan("explain", text) == (2, "", message)


def test_all_codes(hpplan: Runner) -> None:
    """Whoever writes a gate, or looks for the code of something, has no list to look into."""
    result = hpplan("explain", "--all")
    assert result.status == 0
    title, headers, *lines = result.stdout.splitlines()
    assert title == f"{len(lines)} codes; `hpplan explain CODE` tells all about one"
    assert headers.split() == ["code", "severity", "name", "what", "it", "finds"]
    assert [line.split()[0] for line in lines] == [code.id for code in all_codes()]
    assert (
        "HP211  error     class-contracts-differ      "
        "Two boundaries of one class whose entries differ in something other than `params`."
    ) in lines


def test_codes_as_data(hpplan: Runner) -> None:
    """A table for people is no list for a program."""
    listed = json.loads(hpplan("explain", "--all", "--format", "json").stdout)
    assert [one["code"] for one in listed] == [code.id for code in all_codes()]
    code = json.loads(hpplan("explain", "dp-placement", "--format", "json").stdout)
    assert code in listed
    assert code["code"] == "HP205"
    assert code["severity"] == "error"
    assert code["summary"] == "A placement other than `R` along `dp`, of a parameter or of an activation."
    assert code["doc"].startswith("## What it finds\nA placement other than `R` along `dp`")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a CODE or a PLAN, or --all for a list of the codes"),
        (("--all", "HP211"), "--all lists every code; leave out 'HP211', or --all"),
        (("--all", "--mesh", "cp=2"), "--all lists codes, and --mesh is about a plan; leave it out"),
        (
            ("plan.yaml", "--format", "json"),
            "--format is for codes, and a plan is explained in text; leave it out",
        ),
    ],
)
def test_calls_that_mean_nothing(hpplan: Runner, arguments: tuple[str, ...], message: str) -> None:
    """Half of what somebody typed is left out without a word."""
    result = hpplan("explain", *arguments)
    assert (result.status, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_code_takes_no_module(hpplan: Runner) -> None:
    """There is such a code, so nobody should be told that there is none."""
    for code in ("HP211", "hp211", "class-contracts-differ"):
        result = hpplan("explain", code, "l.0.mlp")
        assert (result.status, result.stdout) == (2, "")
        assert "HP211 is a code, and a code takes no FQN; leave out 'l.0.mlp'" in result.stderr


@pytest.mark.parametrize("option", ["--rules", "--strategies", "--model-type", "--mesh"])
def test_a_code_takes_no_options(hpplan: Runner, option: str) -> None:
    """Whoever asks about a code and a plan at once would not see that half of it was left out."""
    result = hpplan("explain", "HP211", option, "x")
    assert (result.status, result.stdout) == (2, "")
    assert f"HP211 is a code, and {option} is about a plan; leave it out" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: []\n", ("holds rules", "explain PLAN --rules d.yaml")),
        ("strategies: []\n", ("holds strategies", "explain PLAN --strategies d.yaml")),
        ("items: []\n", ("is a workload", "route d.yaml --mesh AXES")),
        ("hpplan_routes: 1\n", ("is a routing table", "route d.yaml")),
    ],
)
def test_a_document_that_is_no_plan(
    hpplan: Runner, folder: Path, text: str, message: tuple[str, str]
) -> None:
    """Its fields are not missing: it is another kind of document, and another command is for it."""
    (folder / "d.yaml").write_text(text, encoding="utf-8")
    what, instead = message
    told = f"Error: d.yaml {what}, and `hpplan explain` takes a plan. Type `hpplan {instead}`.\n"
    assert hpplan("explain", "d.yaml") == (2, "", told)


def test_names_with_escapes(hpplan: Runner) -> None:
    """What somebody pastes must not reach the terminal as a command."""
    for arguments in (
        ["x\x1b[31m"],
        ["dp-\x1bplacement"],
        ["plan.yaml", "l.1.\x1b[31mmlp"],
        ["HP211", "\x1b"],
    ):
        result = hpplan("explain", *arguments)
        assert result.status == 2
        assert "\x1b" not in result.stderr


def test_a_plan(hpplan: Runner) -> None:
    """The sum of a plan: what is a boundary, in which form, and what one forward communicates."""
    result = hpplan("explain", "plan.yaml", "--rules", "rules.yaml")
    assert result.status == 0
    assert result.stdout == (
        "plan.yaml: 5 entries, 4 boundaries\n"
        "active axes: cp, tp (from mesh_dim_names)\n"
        "normalizing: 2 boundaries stripped (ep-strip 2), 1 marked (shared-class-mark)\n"
        "\n"
        "class          form           boundaries  FQNs\n"
        "DeepseekV3MLP  tp_collective           2  l.0.mlp l.1.mlp.shared_experts\n"
        "DeepseekV3MoE  region                  1  l.1.mlp\n"
        "RMSNorm        identity                1  norm\n"
        "\n"
        "per forward     axis  dimension  side  plan  normalized\n"
        "all-gather      tp    dim 1      in       2           1\n"
        "reduce-scatter  tp    dim 1      out      2           1\n"
        "total                                     4           2\n"
    )


def test_a_plan_on_another_mesh(hpplan: Runner) -> None:
    """Without tp nothing is redistributed."""
    result = hpplan("explain", "plan.yaml", "--mesh", "cp=2")
    assert "active axes: cp (from --mesh)\n" in result.stdout
    assert result.stdout.endswith("no boundary redistributes anything over the active axes\n")


def test_a_mesh_that_is_none(hpplan: Runner) -> None:
    """A bad option is the caller's mistake, not the plan's."""
    result = hpplan("explain", "plan.yaml", "--mesh", "foo=2")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.startswith("--mesh:1:1: HP402 error")


def test_a_module_that_is_stripped(hpplan: Runner) -> None:
    """Class, form, collectives, and the rule and pattern that take the boundary away."""
    result = hpplan("explain", "plan.yaml", "l.1.mlp.shared_experts", "--rules", "rules.yaml")
    assert result.status == 0
    assert result.stdout == (
        "l.1.mlp.shared_experts\n"
        "  class        DeepseekV3MLP\n"
        "  boundary     yes\n"
        "  form         tp_collective\n"
        "  axes         cp, tp (from mesh_dim_names)\n"
        "  in           x: all-gather over tp, dim 1 (S(1) -> R)\n"
        "  out          z: reduce-scatter over tp, dim 1 (P(sum) -> S(1))\n"
        "  normalizing  ep-strip: boundary_classes: DeepseekV3MLP -> (absent)\n"
        f"               The forward that {EP} gives the module above calls it itself "
        "(strip pattern 'shared_experts').\n"
        f"               rule     {EP}\n"
        "               pattern  shared_experts\n"
        "               below    l.1.mlp\n"
        "               at       rules.yaml:2:5\n"
        "  normalizing  ep-strip: is_boundary: true -> false\n"
        "\n"
        "l.1.mlp.shared_experts:\n"
        "  in_src:\n"
        "    x: {cp: S(1), tp: S(1)}\n"
        "  in_dst:\n"
        "    x: {cp: S(1), tp: R}\n"
        "  out_src:\n"
        "    z: {cp: S(1), tp: P(sum)}\n"
        "  out_dst:\n"
        "    z: {cp: S(1), tp: S(1)}\n"
        "  is_boundary: true\n"
    )


def test_the_place_of_the_pattern(hpplan: Runner) -> None:
    """Of two patterns in a rule, the one that matched is named."""
    shown = hpplan("explain", "plan.yaml", "l.1.mlp", "--rules", "rules.yaml").stdout
    assert "               at       rules.yaml:2:22\n" in shown
    assert "  form         region\n" in shown


def test_a_module_that_is_marked(hpplan: Runner) -> None:
    """The mark has a cause although no rule speaks of the module."""
    shown = hpplan("explain", "plan.yaml", "l.0.mlp", "--rules", "rules.yaml").stdout
    assert "  normalizing  shared-class-mark: skip_source_lowering: (absent) -> true\n" in shown
    assert "               pattern  DeepseekV3MLP\n" in shown


def test_a_module_that_is_no_boundary(hpplan: Runner) -> None:
    """An entry with parameters alone has neither form nor class."""
    shown = hpplan("explain", "plan.yaml", "rotary").stdout
    assert shown.startswith(
        "rotary\n  class        none\n  boundary     no\n  normalizing  changes nothing here\n"
    )


def test_a_module_that_was_stripped_earlier(hpplan: Runner) -> None:
    """A normalized plan still knows what was there, and why it went."""
    hpplan("normalize", "plan.yaml", "--rules", "rules.yaml", "-o", "normalized.yaml")
    shown = hpplan("explain", "normalized.yaml", "l.1.mlp.shared_experts").stdout
    assert "  class        none (was DeepseekV3MLP)\n" in shown
    assert "  stripped     earlier, by ep-strip\n" in shown
    assert "               below    l.1.mlp\n" in shown


def test_an_unknown_module(hpplan: Runner) -> None:
    """The nearest name is more use than silence."""
    assert hpplan("explain", "plan.yaml", "l.1.mpl") == (
        2,
        "",
        "Error: The plan plan.yaml says nothing about 'l.1.mpl'. Did you mean 'l.1.mlp'?\n",
    )


def test_what_lies_below_a_module(hpplan: Runner) -> None:
    """The entry of the module above says what there is to say about a parameter."""
    shown = hpplan("explain", "plan.yaml", "l.1.mlp.gate_proj.weight")
    assert (shown.status, shown.stdout) == (2, "")
    assert "Above it is 'l.1.mlp'. Type `hpplan explain plan.yaml l.1.mlp`.\n" in shown.stderr


def test_a_broken_plan(hpplan: Runner, folder: Path) -> None:
    """What does not validate cannot be explained."""
    (folder / "broken.yaml").write_text("param_plan: {}\n", encoding="utf-8")
    result = hpplan("explain", "broken.yaml")
    assert (result.status, result.stdout) == (1, "")
    assert "HP101" in result.stderr


@pytest.mark.parametrize("color", [False, True])
def test_a_plan_on_a_terminal(color: bool) -> None:
    """A name that is folded into a column cannot be searched for, nor copied into the next command."""
    run = CheckRun()
    plan = load_plan(parse_document(PLAN.replace("norm:", "'[red]norm':").encode(), "plan.yaml"))
    shown = render(run.subject(plan), Screen(80, color))
    assert (
        "DeepseekV3MLP  tp_collective           2\n"
        "  l.0.mlp\n"
        "  l.1.mlp.shared_experts\n"
        "DeepseekV3MoE  identity                1\n"
        "  l.1.mlp\n"
        "RMSNorm        identity                1\n"
        "  [red]norm\n"
        "\n"
    ) in shown
    assert ("\x1b[1mclass          form           boundaries\x1b[0m\n" in shown) is color
    assert ("\x1b[" in shown) is color


@pytest.mark.parametrize("width", ["20", "80"])
def test_names_come_whole_at_any_width(
    hpplan: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    """A terminal of any width shows each name on a line of its own."""
    names = [f"model.language_model.layers.0.self_attn.{'x' * length}" for length in (1, 30, 120)]
    entries = "".join(f"  {name}: {{is_boundary: true}}\n" for name in names)
    (folder / "wide.yaml").write_text(f"boundary_classes: {{}}\nparam_plan:\n{entries}", encoding="utf-8")
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    lines = hpplan("explain", "wide.yaml").stdout.splitlines()
    assert [line[2:] for line in lines if line.startswith("  model.")] == names


@pytest.mark.parametrize("width", [40, 80])
def test_sentences_fit_a_terminal(hpplan: Runner, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Sentences run over the edge of a terminal, or what a pipe gets depends on one."""
    arguments = ("explain", "plan.yaml", "l.1.mlp", "--rules", "rules.yaml")
    monkeypatch.setenv("COLUMNS", str(width))
    piped = hpplan(*arguments).stdout
    with monkeypatch.context() as on_a_terminal:
        on_a_terminal.setattr("sys.stdout.isatty", lambda: True)
        shown = hpplan("--color", "never", *arguments).stdout
    why = next(line for line in piped.splitlines() if len(line) > 150)
    assert why not in shown
    lines = shown.splitlines()
    first = next(at for at, line in enumerate(lines) if why.startswith(line) and line.startswith(" " * 15))
    last = next(at for at, line in enumerate(lines) if at > first and line.split()[0] == "rule")
    assert all(line.startswith(" " * 15) for line in lines[first:last])
    assert all(len(line) <= width or " " not in line.strip() for line in lines[first:last])
    assert " ".join(line.strip() for line in lines[first:last]) == why.strip()
    assert [*lines[:first], why, *lines[last:]] == piped.splitlines()


def test_colour_only_where_asked(hpplan: Runner) -> None:
    """The flag alone colours a pipe; what it colours is the same text."""
    for arguments in (["HP211"], ["plan.yaml"], ["plan.yaml", "l.0.mlp"]):
        coloured = hpplan("--color", "always", "explain", *arguments).stdout
        plain = hpplan("explain", *arguments).stdout
        assert "\x1b[1m" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_hidden_characters_in_an_entry(hpplan: Runner, folder: Path) -> None:
    """A field whose name turns the line around is shown as it is to be seen, and not as it is."""
    plan = '{"boundary_classes": {}, "param_plan": {"a": {"x\u202e": 1, "\u200e": "\x9b"}}}'
    (folder / "hidden.json").write_text(plan, encoding="utf-8")
    shown = hpplan("explain", "hidden.json", "a").stdout
    assert "'x\\u202e': 1" in shown
    assert [one for one in shown if not one.isprintable() and one != "\n"] == []
