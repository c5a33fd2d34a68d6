"""`hpplan normalize`: every option, as people call it."""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from conftest import ProcessRunner, Runner

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"

PLAN = f"""\
# a plan
param_plan:
  model.layers.10.mlp: {{is_boundary: true}}
  model.layers.2.mlp: {{is_boundary: true, custom: [1, null]}}
boundary_classes:
  model.layers.2.mlp: DeepseekV3MoE
  model.layers.10.mlp: DeepseekV3MLP
injections:
  - match: model.layers.2.mlp
    local_compute_fn: {{_target_: {EP}}}
"""

BARE = f"""\
# a plan
boundary_classes:
  model.layers.10.mlp: DeepseekV3MLP
param_plan:
  model.layers.2.mlp:
    is_boundary: false
    custom: [1, null]
  model.layers.10.mlp:
    is_boundary: true
injections:
  - local_compute_fn:
      _target_: {EP}
    match: model.layers.2.mlp
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a plan that ep-strip changes, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def loaded(text: str) -> Any:  # noqa: ANN401 - document data
    """Read a YAML text."""
    return yaml.safe_load(text)


@pytest.mark.usefixtures("plan")
def test_writes_the_plan_to_standard_output(hpplan: Runner) -> None:
    """The normalized plan is wrong, in another order, or lacks its header or an unknown field."""
    result = hpplan("normalize", "plan.yaml", "--bare")
    assert result == (0, BARE, "")


@pytest.mark.usefixtures("plan")
def test_record(hpplan: Runner) -> None:
    """The normalization record is missing, or not about this input."""
    block = loaded(hpplan("normalize", "plan.yaml").stdout)["normalization"]
    assert list(block) == ["hpplan_version", "input_sha256", "passes", "stripped"]
    assert block["stripped"] == {
        "model.layers.2.mlp": {
            "class": "DeepseekV3MoE",
            "pass": "ep-strip",
            "pattern": "model.layers.2.mlp",
            "rule": EP,
        }
    }


def test_standard_input(hpplan: Runner) -> None:
    """A plan cannot be piped through."""
    assert hpplan("normalize", "-", "--bare", stdin=PLAN.encode()).stdout == BARE
    text = hpplan("normalize", "-", "--changes", stdin=PLAN.encode()).stdout
    assert text.startswith("<stdin>: 1 boundary stripped (ep-strip 1)\n")


def test_json_in_json_out(hpplan: Runner) -> None:
    """A JSON plan comes out as YAML, or with unsorted keys."""
    text = json.dumps(loaded(PLAN))
    result = hpplan("normalize", "-", "--bare", stdin=text.encode())
    assert result.stdout == json.dumps(loaded(BARE), indent=2, sort_keys=True) + "\n"


@pytest.mark.usefixtures("plan")
def test_a_json_file_stays_json(hpplan: Runner) -> None:
    """A plan in a file called *.json that a person edited comes back as YAML, which HyperParallel refuses."""
    path = Path("plan.json")
    text = "# by hand\n" + json.dumps(loaded(PLAN))[:-1] + ",}"
    wanted = json.dumps(loaded(BARE), indent=2, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
    assert hpplan("normalize", "plan.json", "--bare").stdout == wanted
    assert hpplan("normalize", "plan.json", "--bare", "--check").status == 1
    assert f"\n+{wanted.splitlines()[1]}\n" in hpplan("normalize", "plan.json", "--bare", "--diff").stdout
    result = hpplan("normalize", "plan.json", "--bare", "-w")
    assert (result.status, path.read_text(encoding="utf-8")) == (0, wanted)
    assert result.stderr.startswith("plan.json: comments were not kept\n")
    assert hpplan("normalize", "plan.json", "--bare", "--check") == (0, "", "")


@pytest.mark.usefixtures("plan")
def test_yaml_with_json_in_it_stays_json(hpplan: Runner) -> None:
    """A plan in JSON under another name comes back as YAML."""
    path = Path("plan.yml")
    path.write_text(json.dumps(loaded(PLAN)), encoding="utf-8")
    assert hpplan("normalize", "plan.yml", "-w").status == 0
    assert json.loads(path.read_text(encoding="utf-8"))["normalization"]


def test_what_json_lacks(hpplan: Runner, plan: Path) -> None:
    """A number that JSON does not have is written all the same, or nobody is told where it is."""
    plan.write_text(PLAN + "custom: [1.5, -.inf]\n", encoding="utf-8")
    result = hpplan("normalize", "plan.yaml", "-o", "out.json")
    assert (result.status, result.stdout) == (1, "")
    line = PLAN.count("\n") + 1
    assert result.stderr.startswith(f"plan.yaml:{line}:15: HP018 error: JSON has no number -.inf\n")
    assert not Path("out.json").exists()


def test_write_in_place(hpplan: Runner, plan: Path) -> None:
    """--write touches a line that no pass changes, loses a comment, or writes the file twice."""
    text = PLAN.replace("boundary_classes:\n", "boundary_classes:  # by hand\n  # dense ones\n")
    plan.write_text(text + "# the end\n", encoding="utf-8")
    first = hpplan("normalize", "-w", "plan.yaml", "--bare")
    assert first == (0, "", "plan.yaml: 1 boundary stripped (ep-strip 1)\n")
    wanted = text.replace("  model.layers.2.mlp: DeepseekV3MoE\n", "") + "# the end\n"
    wanted = wanted.replace("{is_boundary: true, custom", "{is_boundary: false, custom")
    assert plan.read_text(encoding="utf-8") == wanted
    before = plan.stat()
    again = hpplan("normalize", "-w", "plan.yaml", "--bare")
    assert again == (0, "", "plan.yaml: already normalized\n")
    assert plan.stat().st_mtime_ns == before.st_mtime_ns
    assert plan.stat().st_ino == before.st_ino
    assert hpplan("normalize", "--check", "plan.yaml") == (0, "", "")


def test_write_the_canonical_form(hpplan: Runner, plan: Path) -> None:
    """--canonical keeps the file's own layout, or loses comments without a word."""
    plan.write_text(PLAN + "# the end\n", encoding="utf-8")
    assert hpplan("normalize", "--check", "plan.yaml", "--bare", "--canonical").status == 1
    first = hpplan("normalize", "-w", "plan.yaml", "--bare", "--canonical")
    lost = "plan.yaml: comments after the first line of the plan were not kept\n"
    assert first == (0, "", f"{lost}plan.yaml: 1 boundary stripped (ep-strip 1)\n")
    assert plan.read_text(encoding="utf-8") == BARE
    assert hpplan("normalize", "--check", "plan.yaml", "--canonical") == (0, "", "")


@pytest.mark.usefixtures("plan")
def test_output_to_the_plan_itself(hpplan: Runner) -> None:
    """-o with the plan's own name keeps its layout, or --check looks at another text than that writes."""
    command = ("normalize", "plan.yaml", "--bare", "-o", "plan.yaml")
    assert hpplan("normalize", "-w", "plan.yaml", "--bare").status == 0
    assert hpplan(*command, "--check").status == 1
    assert hpplan(*command).stderr == "plan.yaml: written in canonical form, nothing to strip or mark\n"
    assert Path("plan.yaml").read_text(encoding="utf-8") == BARE
    assert hpplan(*command, "--check") == (0, "", "")


def test_what_cannot_be_done_in_place(hpplan: Runner, plan: Path) -> None:
    """A part whose comments are lost, or a whole file, is written anew without a word, or wrongly."""
    merged = PLAN.replace(
        "boundary_classes:\n", "more: &c {x: DeepseekV3MoE}\nboundary_classes:\n  <<: *c  # why\n"
    )
    plan.write_text(merged.replace("match: model.layers.2.mlp", "match: [x, model.layers.2.mlp]"), "utf-8")
    result = hpplan("normalize", "-w", "plan.yaml", "--bare")
    assert result.stderr.splitlines()[0] == (
        "plan.yaml: 'boundary_classes' was written anew, without the comments in it: "
        "'<<' brings in what has to go"
    )
    text = plan.read_text(encoding="utf-8")
    assert "\nboundary_classes:\n  model.layers.10.mlp: DeepseekV3MLP\ninjections" in text
    assert text.startswith("# a plan\nparam_plan:\n  model.layers.10.mlp: {")
    plan.write_text(f"more: &c {{normalization: {{}}}}\n<<: *c  # why\n{PLAN}", encoding="utf-8")
    result = hpplan("normalize", "-w", "plan.yaml", "--bare")
    assert result.stderr.splitlines()[:2] == [
        "plan.yaml: written in canonical form: '<<' brings in what has to go",
        "plan.yaml: comments after the first line of the plan were not kept",
    ]
    assert "normalization" not in loaded(plan.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "starts"), [("out.json", "{"), ("out.yaml", "# a plan"), ("out", "# a plan")]
)
@pytest.mark.usefixtures("plan")
def test_output_file(hpplan: Runner, name: str, starts: str) -> None:
    """-o writes elsewhere, or in another format than the name says."""
    result = hpplan("normalize", "plan.yaml", "-o", name)
    assert (result.status, result.stdout) == (0, "")
    assert Path(name).read_text(encoding="utf-8").startswith(starts)


@pytest.mark.usefixtures("plan")
def test_check(hpplan: Runner) -> None:
    """--check passes a plan that would change, does not name what, or fails on its own output."""
    result = hpplan("normalize", "plan.yaml", "--bare", "--check")
    assert result.status == 1
    assert result.stdout == (
        "--- plan.yaml\n+++ plan.yaml (normalized)\n~ model.layers.2.mlp\n"
        "    class: DeepseekV3MoE -> (absent)\n    is_boundary: true -> false\n"
    )
    assert hpplan("normalize", "plan.yaml", "-o", "out.yaml").status == 0
    assert hpplan("normalize", "plan.yaml", "-o", "out.yaml", "--check") == (0, "", "")
    assert hpplan("normalize", "out.yaml", "--check") == (0, "", "")


def test_byte_order_mark(hpplan: Runner, plan: Path) -> None:
    """-w takes the byte order mark from a plan, or --check disagrees with it."""
    plan.write_bytes(b"\xef\xbb\xbf" + PLAN.encode())
    assert hpplan("normalize", "plan.yaml", "--check").status == 1
    assert hpplan("normalize", "-w", "plan.yaml").status == 0
    assert plan.read_bytes().startswith(b"\xef\xbb\xbf# a plan\n")
    assert hpplan("normalize", "plan.yaml", "--check") == (0, "", "")
    assert hpplan("normalize", "plan.yaml", "--check", "--canonical").status == 1
    assert hpplan("normalize", "-w", "plan.yaml", "--canonical").status == 0
    assert plan.read_bytes().startswith(b"# a plan\n")
    assert hpplan("normalize", "plan.yaml", "--check", "--canonical") == (0, "", "")


def test_says_what_was_written(hpplan: Runner, plan: Path) -> None:
    """The message after writing claims that nothing happened, or that something did."""
    plan.write_text(BARE.replace("[1, null]", "[ 1, ~ ]"), encoding="utf-8")
    assert hpplan("normalize", "-w", "plan.yaml").stderr == "plan.yaml: already normalized\n"
    written = "plan.yaml: written in canonical form, nothing to strip or mark\n"
    assert hpplan("normalize", "-w", "plan.yaml", "--canonical").stderr == written
    assert hpplan("normalize", "-w", "plan.yaml", "plan.yaml").stderr == "plan.yaml: already normalized\n"
    plan.write_text(PLAN, encoding="utf-8")
    hpplan("normalize", "-w", "plan.yaml")
    out = "plan.yaml: the normalization record taken out, nothing to strip or mark\n"
    assert hpplan("normalize", "-w", "plan.yaml", "--bare").stderr == out


def test_what_joins_below_a_stripped_target_is_stripped(hpplan: Runner, plan: Path) -> None:
    """A boundary put back below an EP target stays, because the target lost its class in the first run."""
    target = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
    data = {
        "boundary_classes": {"y": "DeepseekV3MoE", "y.shared_experts": "C"},
        "param_plan": {"y": {"is_boundary": True}, "y.shared_experts": {"is_boundary": True}},
        "injections": [{"match": "y", "local_compute_fn": target}],
    }
    plan.write_text(json.dumps(data), encoding="utf-8")
    assert hpplan("normalize", "-w", "plan.yaml").status == 0
    once = plan.read_text(encoding="utf-8")
    edited = json.loads(once)
    edited["boundary_classes"]["y.shared_experts"] = "C"
    edited["param_plan"]["y.shared_experts"]["is_boundary"] = True
    again = json.loads(hpplan("normalize", "-", stdin=json.dumps(edited).encode()).stdout)
    assert again["boundary_classes"] == {}
    assert again["param_plan"] == json.loads(once)["param_plan"]
    assert again["normalization"]["stripped"] == json.loads(once)["normalization"]["stripped"]


def test_check_tells_form_from_content(hpplan: Runner, plan: Path) -> None:
    """--check passes a plan in another spelling, or claims that its meaning would change."""
    plan.write_text(BARE.replace("custom: [1, null]", "custom: [ 1, ~ ]"), encoding="utf-8")
    assert hpplan("normalize", "plan.yaml", "--check") == (0, "", "")
    result = hpplan("normalize", "plan.yaml", "--check", "--canonical")
    assert result.status == 1
    text = "plan.yaml: its text would change (spelling, line ends, comments or record; see --diff), "
    text += "its meaning not\n"
    assert result.stdout == text


@pytest.mark.usefixtures("plan")
def test_check_against_another_file(hpplan: Runner) -> None:
    """--check with -o compares with the plan itself, or writes."""
    Path("out.yaml").write_text(BARE.replace("false", "true"), encoding="utf-8")
    result = hpplan("normalize", "plan.yaml", "--bare", "-o", "out.yaml", "--check")
    assert result == (
        1,
        "--- out.yaml\n+++ out.yaml (normalized)\n~ model.layers.2.mlp\n    is_boundary: true -> false\n",
        "",
    )
    assert hpplan("normalize", "plan.yaml", "-o", "missing.yaml", "--check").status == 2


@pytest.mark.usefixtures("plan")
def test_diff(hpplan: Runner) -> None:
    """--diff is no unified diff from the file to what would be written."""
    Path("out.yaml").write_text(BARE.replace("false", "true"), encoding="utf-8")
    result = hpplan("normalize", "plan.yaml", "--bare", "-o", "out.yaml", "--diff")
    assert result.status == 1
    assert result.stdout == (
        "--- out.yaml\n+++ out.yaml (normalized)\n@@ -3,7 +3,7 @@\n   model.layers.10.mlp: DeepseekV3MLP\n"
        " param_plan:\n   model.layers.2.mlp:\n-    is_boundary: true\n+    is_boundary: false\n"
        "     custom: [1, null]\n   model.layers.10.mlp:\n     is_boundary: true\n"
    )


def test_diff_of_a_byte_order_mark(hpplan: Runner, plan: Path) -> None:
    """--diff ends with 1 and shows nothing where the byte order mark alone would go."""
    plan.write_bytes(b"\xef\xbb\xbf" + BARE.encode())
    result = hpplan("normalize", "plan.yaml", "--diff", "--canonical")
    assert result.status == 1
    assert result.stdout == (
        "--- plan.yaml\n+++ plan.yaml (normalized)\n@@ -1,4 +1,4 @@\n-\ufeff# a plan\n+# a plan\n"
        " boundary_classes:\n   model.layers.10.mlp: DeepseekV3MLP\n param_plan:\n"
    )


@pytest.mark.usefixtures("plan")
def test_changes(hpplan: Runner) -> None:
    """--changes leaves out a change or its reason, or prints the plan as well."""
    text = hpplan("normalize", "plan.yaml", "--changes").stdout
    lines = text.splitlines()
    assert lines[0] == "plan.yaml: 1 boundary stripped (ep-strip 1)"
    assert [line.split()[:5] for line in lines[1:]] == [
        ["pass", "FQN", "field", "before", "after"],
        ["ep-strip", "model.layers.2.mlp", "boundary_classes", "DeepseekV3MoE", "-"],
        ["ep-strip", "model.layers.2.mlp", "is_boundary", "true", "false"],
    ]
    data = json.loads(hpplan("normalize", "plan.yaml", "--changes", "--format", "json").stdout)
    assert [change["after"] for change in data[0]["changes"]] == [None, False]
    assert {change["rule"] for change in data[0]["changes"]} == {EP}


def test_changes_for_people() -> None:
    """On a terminal, changes are not folded, names are cut, or modules are out of order."""
    from hpplan.passes.change import Cause, Change
    from hpplan.passes.ep_strip import EpStrip
    from hpplan.passes.shared_class_mark import SharedClassMark
    from hpplan.reports.changes.table import render_terminal

    why = "The forward that some.very.long.dotted.name gives the module above calls it itself."
    long = "model." + "a" * 120
    strip = Cause("ep-strip", EpStrip.did, why, "x", rule="r")
    mark = Cause("shared-class-mark", SharedClassMark.did, "Its class is shared.", "C")
    fqns = [f"layers.{n}.mlp" for n in (10, 2, 3)]
    changes = [Change(fqn, "is_boundary", before=None, after=False, cause=strip) for fqn in [*fqns, long]]
    changes.append(Change("a.0", "skip_source_lowering", before=None, after=True, cause=mark))
    assert render_terminal("p", changes, color=False, width=40) == (
        "p: 4 boundaries stripped (ep-strip 4), 1 marked (shared-class-mark)\n"
        "\nep-strip\n"
        f"  layers.{{2,3,10}}.mlp\n  {long}\n    is_boundary  - -> false\n"
        "    The forward that\n    some.very.long.dotted.name gives the\n    module above calls it itself.\n"
        "\nshared-class-mark\n  a.0\n    skip_source_lowering  - -> true\n    Its class is shared.\n"
    )
    colored = render_terminal("p", changes, color=True, width=40)
    assert "\x1b[1mep-strip\x1b[0m" in colored


@pytest.mark.usefixtures("plan")
def test_passes(hpplan: Runner) -> None:
    """--passes runs a pass that was not asked for."""
    result = hpplan("normalize", "plan.yaml", "--bare", "--passes", "external-state-strip,shared-class-mark")
    assert loaded(result.stdout) == loaded(PLAN)
    assert hpplan("normalize", "plan.yaml", "--passes", "ep_strip").status == 2


@pytest.mark.usefixtures("plan")
def test_print_after(hpplan: Runner) -> None:
    """--print-after mixes the plan of a pass into the result, or prints another pass's."""
    result = hpplan("normalize", "plan.yaml", "--bare", "--print-after", "ep-strip")
    assert result.stdout == BARE
    assert result.stderr == "# after ep-strip\n" + BARE.removeprefix("# a plan\n")


def test_several_plans(hpplan: Runner, plan: Path) -> None:
    """Several plans are not all written, or some are although one is broken."""
    second = plan.with_name("second.yaml")
    second.write_text(PLAN, encoding="utf-8")
    broken = plan.with_name("broken.yaml")
    broken.write_text("param_plan: 1\n", encoding="utf-8")
    result = hpplan("normalize", "-w", "plan.yaml", "broken.yaml", "second.yaml")
    assert (result.status, result.stdout) == (1, "")
    assert "broken.yaml:1:1: HP101" in result.stderr
    assert "broken.yaml:1:13: HP102" in result.stderr
    assert plan.read_text(encoding="utf-8") == second.read_text(encoding="utf-8") == PLAN
    assert hpplan("normalize", "-w", "--bare", "--canonical", "plan.yaml", "second.yaml").status == 0
    assert plan.read_text(encoding="utf-8") == second.read_text(encoding="utf-8") == BARE


def test_several_plans_are_written_together(
    hpplan: Runner, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of several plans are written although another cannot be."""
    second = plan.with_name("second.yaml")
    second.write_text(PLAN, encoding="utf-8")
    sync = os.fsync
    calls: list[int] = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    said = "Error: Cannot write second.yaml: no space left on device.\n"
    assert hpplan("normalize", "-w", "plan.yaml", "second.yaml") == (2, "", said)
    assert plan.read_text(encoding="utf-8") == second.read_text(encoding="utf-8") == PLAN


def test_rules_file(hpplan: Runner, plan: Path) -> None:
    """Rules from a file do not take the place of the plan's own."""
    plan.with_name("rules.yaml").write_text("rules: []\n", encoding="utf-8")
    result = hpplan("normalize", "plan.yaml", "--bare", "--rules", "rules.yaml")
    assert loaded(result.stdout) == loaded(PLAN)


def test_strategies_file(hpplan: Runner, plan: Path) -> None:
    """A strategy from --strategies is not used, or --model-type does not limit it."""
    plan.write_text(PLAN.replace(EP, "my.fn"), encoding="utf-8")
    strategy = "target: my.fn, kind: moe_ep_routed, target_class: DeepseekV3MoE, model_types: [mine]"
    plan.with_name("s.yaml").write_text(f"strategies: [{{{strategy}}}]\n", encoding="utf-8")
    with_it = ("normalize", "plan.yaml", "--bare", "--strategies", "s.yaml")
    assert loaded(hpplan(*with_it).stdout)["boundary_classes"] == {"model.layers.10.mlp": "DeepseekV3MLP"}
    other = hpplan(*with_it, "--model-type", "other")
    assert "HP301" in other.stderr
    assert len(loaded(other.stdout)["boundary_classes"]) == 2


RULES_THAT_DO_NOTHING = f"""\
rules:
  - {{match: "*.moe", local_compute_fn: {EP}}}
  - {{match: "*.mlp", local_compute_fn: nobody.knows}}
  - match: "*.10.mlp"
    local_compute_fn: {EP}
"""


def test_warnings_and_strict(hpplan: Runner, plan: Path) -> None:
    """A rule without effect goes unnoticed, stops the run, or passes --strict."""
    plan.with_name("rules.yaml").write_text(RULES_THAT_DO_NOTHING, encoding="utf-8")
    result = hpplan("normalize", "plan.yaml", "--rules", "rules.yaml", "-o", "out.yaml")
    assert result.status == 0
    found = [line.split(": ")[:2] for line in result.stderr.splitlines() if "HP3" in line]
    assert found == [
        ["rules.yaml:2:5", "HP302 warning"],
        ["rules.yaml:3:40", "HP301 warning"],
        ["rules.yaml:5:23", "HP303 warning"],
    ]
    Path("out.yaml").unlink()
    strict = hpplan("normalize", "plan.yaml", "--rules", "rules.yaml", "-o", "out.yaml", "--strict")
    assert (strict.status, strict.stdout) == (1, "")
    assert strict.stderr.count(" error: ") == 3
    assert not Path("out.yaml").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("plan.yaml", "plan.yaml"),
        ("plan.yaml", "plan.yaml", "-o", "x"),
        ("plan.yaml", "-w", "-o", "x"),
        ("plan.yaml", "-w", "--check"),
        ("plan.yaml", "--check", "--changes"),
        ("-", "-w"),
        ("-", "--rules", "-"),
        ("plan.yaml", "--format", "toml"),
        ("plan.yaml", "--print-after", "nothing"),
        ("plan.yaml", "--passes", "ep-strip", "--print-after", "shared-class-mark"),
        ("plan.yaml", "--passes", ""),
        ("plan.yaml", "--rules", "plan.yaml", "-o", "./plan.yaml"),
        ("/dev/null", "-w"),
        ("",),
        ("missing.yaml",),
        ("plan.yaml", "--rules", "."),
        ("plan.yaml", "--rules", "missing.yaml"),
        ("plan.yaml", "--strategies", "."),
        ("plan.yaml", "-o", "missing/out.yaml"),
        ("plan.yaml", "--no-such-option"),
    ],
)
@pytest.mark.usefixtures("plan")
def test_questions_that_cannot_be_asked(hpplan: Runner, arguments: tuple[str, ...]) -> None:
    """A wrong call has another status than 2, prints a result, or ends in a traceback."""
    result = hpplan("normalize", *arguments)
    assert (result.status, result.stdout) == (2, "")
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr


JUNK = [
    b"",
    b"\x00",
    b"\xff\xfe{",
    b"\x80abc",
    b"[" * 5000,
    b'{"a":' * 5000,
    b"- 1\n",
    b"1",
    b"a: [",
    b"{}",
    b"a: b: c",
    b"param_plan: {}\nboundary_classes: []\n",
    b"param_plan: {a: {params: {w: {tp: 0}}}}\nboundary_classes: {}\n",
    b"boundary_classes: {}\nparam_plan: {}\nnormalization: {stripped: {a: 1}}\n",
    b"boundary_classes: {}\nparam_plan: {}\ninjections: [{match: 1, local_compute_fn: a}]\n",
    b"boundary_classes: {}\nparam_plan: {}\nsource: 7\n",
    b"&a [*a]",
    b"a: &x 1\nb: *y\n",
    b"? [a]\n: 1\n",
    b"!!python/object:os.system {}",
    b"{" + b'"k": 1,' * 3,
    b"\xef\xbb\xbf",
    b"--- {}\n--- {}\n",
    b"a: 1\na: 2\n",
]


@pytest.mark.parametrize("junk", JUNK, ids=[str(index) for index in range(len(JUNK))])
def test_junk(hpplan: Runner, junk: bytes) -> None:
    """Input that is no plan has another status than 1, prints a result, or ends in a traceback."""
    result = hpplan("normalize", "-", stdin=junk)
    assert (result.status, result.stdout) == (1, "")
    assert "<stdin>:" in result.stderr
    assert "HP" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "field", ["param_plan", "boundary_classes", "parallel_dims", "injections", "covered"]
)
@pytest.mark.parametrize(
    "value", [None, True, 1, 1.5, "x", [], [[]], [{}], {}, {"a": None}, {"a": {"b": [1]}}]
)
def test_wrong_types(hpplan: Runner, field: str, value: object) -> None:
    """A wrong type at some level ends in a traceback, or in a status that is neither 0 nor 1."""
    data = {"param_plan": {}, "boundary_classes": {}, field: value}
    result = hpplan("normalize", "-", stdin=json.dumps(data).encode())
    assert result.status in {0, 1}
    assert "Traceback" not in result.stderr


def test_alias_bomb(hpplan_process: ProcessRunner) -> None:
    """A small file that expands to billions of nodes is expanded."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    names = "abcdefghi"
    for before, name in pairwise(names):
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    result = hpplan_process("normalize", "-", stdin=bomb.encode())
    assert (result.status, result.stdout) == (1, "")
    assert "HP0" in result.stderr


def test_neither_torch_nor_rich(root: Path) -> None:
    """Writing to a pipe imports torch, rich or pydantic's model classes, and takes long to start."""
    import subprocess

    code = (
        "import sys\nfrom hpplan.cli.main import main\n"
        "try:\n    main(['normalize', sys.argv[1]])\n"
        "finally:\n    print(sorted({'torch', 'rich', 'pydantic'} & set(sys.modules)), file=sys.stderr)\n"
    )
    sample = str(root / "sample_plans" / "deepseek_v3.yaml")
    done = subprocess.run([sys.executable, "-c", code, sample], capture_output=True, check=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_closed_pipe(root: Path) -> None:
    """A reader that goes away turns the verdict into an error, or shows a traceback."""
    import subprocess

    sample = str(root / "sample_plans" / "deepseek_v3.yaml")
    command = [sys.executable, "-m", "hpplan", "normalize", sample]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
