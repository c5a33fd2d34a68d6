"""Options that take a name: the nearest is suggested, and a shell completes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from hpplan.cli.main import cli
from hpplan.cli.output import Output

if TYPE_CHECKING:
    from conftest import Runner

NAMES = [
    (["schema"], "work", "workloda", ["workload"]),
    (["workload", "b.jsonl", "--model"], "qwen2", "qwen2vl", ["qwen2_vl", "qwen2_5_vl"]),
    (["workload", "b.jsonl", "--dtype"], "b", "bfloat15", ["bfloat16"]),
    (["workload", "b.jsonl", "--cp-layout"], "z", "zigzga", ["zigzag"]),
    (["workload", "b.jsonl", "--assign"], "l", "ltp", ["lpt", "local"]),
    (["route", "w.yaml", "--assign"], "r", "roundrobin", ["round-robin"]),
    (["route", "w.yaml", "--cp-layout"], "c", "contigous", ["contiguous"]),
    (["route", "w.yaml", "--granularity"], "r", "rows", ["record", "row"]),
    (["route", "w.yaml", "--format"], "s", "svgz", ["svg"]),
    (["compile", "p.yaml", "--granularity"], "", "recrod", ["record", "row"]),
    (["exec", "r.json", "--granularity"], "rec", "recrod", ["record"]),
]


@pytest.mark.parametrize(("given", "begun", "wrong", "names"), NAMES, ids=str)
def test_names(hpplan: Runner, given: list[str], begun: str, wrong: str, names: list[str]) -> None:
    """Whoever types the beginning of a name, or nearly the name, is told which there are."""
    complete = ShellComplete(cli, {"obj": Output()}, "hpplan", "_HPPLAN_COMPLETE")
    assert [item.value for item in complete.get_completions(given, begun)] == names
    result = hpplan(*given, wrong)
    assert (result.status, result.stdout) == (2, "")
    said = " ".join(result.stderr.split())
    assert f"'{wrong}' is none of " in said
    assert "; did you mean '" in said
    assert said.rpartition("'")[0].rpartition("'")[2] in names


def test_commands(hpplan: Runner) -> None:
    """A mistyped command is refused without a word on which there are."""
    result = hpplan("rout")
    assert (result.status, result.stdout) == (2, "")
    said = " ".join(result.stderr.split())
    assert "'rout' is none of freeze, normalize, validate, " in said
    assert said.endswith("; did you mean 'route'?")


@pytest.mark.parametrize("color", [["--color", "always"], ["--color=always"]])
def test_color_goes_before_the_command(hpplan: Runner, color: list[str]) -> None:
    """Whoever saw --color in a help text is told that there is none."""
    result = hpplan("validate", *color, "x.yaml")
    assert (result.status, result.stdout) == (2, "")
    said = " ".join(result.stderr.split())
    assert said.endswith("--color goes before the command: hpplan --color WHEN validate …")
