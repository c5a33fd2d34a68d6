"""Options that take a name: the nearest is suggested, and a shell completes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from hpplan.cli.main import cli
from hpplan.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path

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
    (["compile", "p.yaml", "--granularity"], "", "recrod", ["record", "row", "once"]),
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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["validate", "p.yaml", "--select", "HP999"], "'--select': no code is called 'HP999'"),
        (
            ["route", "w.yaml", "--bandwidth", "0"],
            "'--bandwidth': 0.0 is not a positive number of GB/s.",
        ),
        (
            ["route", "w.yaml", "--bandwidth", "1", "--ranks-per-node", "2", "--node-bandwidth", "-1"],
            "'--node-bandwidth': -1.0 is not a positive number of GB/s.",
        ),
        (
            ["workload", "sample_plans/batches", "--model", "qwen2_vl", "--set", "merge_size=x"],
            "'--set': 'merge_size=x' is no NAME=VALUE with a number",
        ),
    ],
)
def test_what_the_library_refuses_is_called_by_its_option(
    hpplan: Runner, root: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str
) -> None:
    """Who typed `--node-bandwidth` reads about `node_bandwidth`, or nothing of how the command goes."""
    monkeypatch.chdir(root)
    result = hpplan(*given)
    assert (result.status, result.stdout) == (2, "")
    usage, *_, last = result.stderr.rstrip("\n").split("\n")
    assert usage.startswith(f"Usage: hpplan {given[0]} ")
    assert last == f"Error: Invalid value for {said}"
