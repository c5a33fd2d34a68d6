"""Short documents that would take long or say much, were there no bound to what is looked for and said."""

from __future__ import annotations

import json
import time
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from hpplan.documents.writer import dump_yaml
from hpplan.nearest import NearestNames, nearest_name
from hpplan.plan.fqn import FqnIndex, matcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Runner

_SECONDS = 4
"""Of processor time, of which all of these take a fraction."""

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"


def plan(**fields: object) -> dict[str, Any]:
    """Return a plan with some fields."""
    return {"boundary_classes": {}, "param_plan": {"a": {}}, **fields}


def rule(match: object, target: str = EP, **fields: object) -> dict[str, Any]:
    """Return an inline rule."""
    return {"match": match, "local_compute_fn": target, **fields}


def contracts(number: int) -> dict[str, Any]:
    """Return boundaries of one class, each with a contract of its own."""
    entry = {"in_src": {"x": {"tp": "R"}}, "in_dst": {"x": {"tp": "R"}}}
    names = [f"l.{index}" for index in range(number)]
    return plan(
        param_plan={
            name: {**entry, "out_src": {name: {"tp": "R"}}, "out_dst": {name: {"tp": "R"}}} for name in names
        },
        boundary_classes=dict.fromkeys(names, "A"),
    )


SLOW: dict[str, Callable[[], dict[str, Any]]] = {
    "stars that all could match": lambda: plan(
        param_plan={"a.b": {}, **{f"{'a' * 60}.{'a' * 60}.b{n}": {} for n in range(10)}},
        injections=[rule("*a" * 30 + "*b*", inner_wrapper="x")],
    ),
    "axes beside many": lambda: plan(
        mesh_dim_names=[f"tp{n}" for n in range(2000)],
        param_plan={"a": {"in_src": {"x": {f"tq{n}": "R" for n in range(2000)}}}},
    ),
    "tensors on one side": lambda: plan(
        param_plan={
            "a": {
                "is_boundary": True,
                "in_src": {f"hidden_states_{n}": {} for n in range(2000)},
                "in_dst": {f"hidden_state_{n}": {} for n in range(2000)},
                "out_src": {f"output_{n}": {} for n in range(2000)},
                "out_names": [f"outputs_{n}" for n in range(2000)],
            }
        }
    ),
    "targets near many": lambda: {
        "rules": [rule("a", f"hyper.parallel.compute.{n}.x") for n in range(1000)],
        "strategies": [
            {"target": f"hyper.parallel.compute.y{n}", "kind": "moe_ep_routed"} for n in range(1000)
        ],
    },
    "records without a target": lambda: {"rules": [{"match": "a"}] * 13_000},
    "faults in one entry": lambda: plan(
        param_plan={"a": {"in_src": {"x": {f"a{n}": "X" for n in range(15_000)}}}}
    ),
    "rules that differ in an argument": lambda: plan(
        param_plan={f"l.{n}": {} for n in range(30)},
        injections=[rule("*", {"_target_": EP, "number": n}) for n in range(3000)],  # type: ignore[arg-type]
    ),
    "contracts": lambda: contracts(9000),
    "samples in one sample": lambda: {"text_tokens": 1, "images": [5] * 8000},
}


@pytest.mark.parametrize("name", SLOW)
def test_validate_is_quick(hpplan: Runner, tmp_path: Path, name: str) -> None:
    """What is looked for grows with the square of what a document holds, or worse."""
    path = tmp_path / "document.json"
    path.write_text(json.dumps(SLOW[name]()), encoding="utf-8")
    start = time.process_time()
    if "samples" in name:
        result = hpplan("workload", str(path), "--model", "qwen2_vl")
    else:
        result = hpplan("validate", str(path), "--output-format", "concise")
    assert result.status in {0, 1}
    assert time.process_time() - start < _SECONDS


def test_brackets_without_an_end_are_quick() -> None:
    """Each bracket of a pattern is looked at to the end of the pattern."""
    start = time.process_time()
    assert matcher("[" * 20_000)("[" * 20_000)
    assert time.process_time() - start < _SECONDS


def test_a_diff_of_lines_that_repeat_is_quick(hpplan: Runner, tmp_path: Path) -> None:
    """Thousands of equal lines on both sides are compared each with each."""
    lines = [{"a": 1}] * 4000
    for name, fields in (("old", [{"b": 1}, *lines, {"c": 1}, *lines]), ("new", [{"d": 1}, *lines, *lines])):
        (tmp_path / name).write_text(dump_yaml(plan(zone=fields)), encoding="utf-8")
    start = time.process_time()
    result = hpplan("normalize", str(tmp_path / "new"), "-o", str(tmp_path / "old"), "--diff")
    assert result.status == 1
    assert time.process_time() - start < _SECONDS


def test_a_name_of_a_thousand_numbers(hpplan: Runner, tmp_path: Path) -> None:
    """Names are folded number by number, and one of many numbers ends in a traceback."""
    names = [f"{'0.' * 499}{last}" for last in range(3)]
    path = tmp_path / "plan.json"
    entry = {"in_src": {"x": {"tp": "R"}}, "in_dst": {"x": {"tp": "S(0)"}}}
    data = plan(boundary_classes=dict.fromkeys(names, "A"), param_plan=dict.fromkeys(names, entry))
    path.write_text(json.dumps(data), encoding="utf-8")
    assert names[0] in hpplan("explain", str(path)).stdout


def test_patterns_match_as_fnmatch_says() -> None:
    """Brackets without an end, or sets that hold brackets, are taken for something else than fnmatch does."""
    from fnmatch import fnmatchcase

    for signs in product("[]!a*", repeat=5):
        pattern = "".join(signs)
        for name in ("[", "[[a", "a", "]", "[]a", "!a", "aaaaa", pattern):
            assert bool(matcher(pattern)(name)) == fnmatchcase(name, pattern), (pattern, name)
            assert FqnIndex([name]).matching(pattern) == [name] * fnmatchcase(name, pattern)


def test_the_nearest_name_is_looked_for_so_often() -> None:
    """A hint that is right is missing, or searches never end."""
    nearest = NearestNames()
    assert [nearest.of(f"layer{n}", [f"layers{n}"]) for n in (1, 2, 1)] == ["layers1", "layers2", "layers1"]
    found = [nearest.of(f"layer{n}", [f"layers{n}"]) for n in range(40)]
    assert found[:20] == [f"layers{n}" for n in range(20)]
    assert set(found[20:]) == {None}
    assert nearest_name("x" * 1000, ["x" * 999]) is None


def test_a_message_quotes_no_megabyte(hpplan: Runner, tmp_path: Path) -> None:
    """A message repeats a text of any length, and fills the screen."""
    huge = "x" * 1_000_000
    entry = {"in_src": {"x": {"tp": huge}}, huge: 1}
    data = plan(param_plan={"a": entry}, injections=[rule("a", when=huge)])
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    for name in ("concise", "full", "github"):
        result = hpplan("validate", str(path), "--output-format", name)
        assert result.status == 1
        assert all(f"HP{code}" in result.stdout for code in (103, 111, 305))
        assert len(result.stdout) < 20_000


def test_a_record_stays_in_proportion(hpplan: Runner, tmp_path: Path) -> None:
    """A pattern of a megabyte is written once for each of the modules that it strips."""
    names = [f"l.{n}" for n in range(100)]
    classes = dict.fromkeys(names, "DeepseekV3MoE")
    data = plan(boundary_classes=classes, injections=[rule(f"[{'l' * 1_000_000}]*")])
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    result = hpplan("normalize", str(path))
    assert (result.status, result.stdout) == (1, "")
    assert "HP115" in result.stderr
