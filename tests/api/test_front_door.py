"""`import hpplan`: what is public is there, typed and documented, and costs nothing before it is used."""

from __future__ import annotations

import doctest
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import library
import pytest

import hpplan
import hpplan.exchange

if TYPE_CHECKING:
    from types import ModuleType

PUBLIC = [(package, name) for package in (hpplan, hpplan.exchange) for name in package.__all__]
ITEM = {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 20}
WORKLOAD = {"sequence": {"length": 32}, "items": [ITEM]}
PLAN = {
    "param_plan": {"a": {"is_boundary": True}},
    "boundary_classes": {"a": "Gone"},
    "external_state_classes": ["Gone"],
}
"""Its one boundary has a class whose forward was replaced."""


def test_the_example_runs() -> None:
    """What the first page of the library shows does not work."""
    assert doctest.testmod(hpplan) == (0, 5)


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_what_is_public_is_there_and_documented(package: ModuleType, name: str) -> None:
    """A public name leads nowhere, says nothing of itself, or a parameter of it has no type."""
    public = getattr(package, name)
    if name.startswith("__"):
        return
    assert public.__name__ == name
    assert public.__doc__
    if inspect.isfunction(public):
        assert public.__annotations__.keys() == {*inspect.signature(public).parameters, "return"}


def test_nothing_else_is_there() -> None:
    """A misspelt name is anything, or whoever explores sees what is private."""
    assert dir(hpplan) == sorted(hpplan.__all__)
    with pytest.raises(AttributeError, match="module 'hpplan' has no attribute 'plan_all'"):
        hpplan.plan_all  # type: ignore[attr-defined]  # noqa: B018 - it raises


def test_the_readme_names_every_function() -> None:
    """Nobody finds what is nowhere shown."""
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## From Python\n")[2].partition("\n## ")[0]
    functions = [name for name in hpplan.__all__ if inspect.isfunction(getattr(hpplan, name))]
    assert [name for name in functions if not re.search(rf"\b{name}\b", section)] == []


def test_the_readme_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README shows calls that fail, or that say something else than the commands."""
    monkeypatch.chdir(root)
    findings, preview, rows_leaving = library.library(tmp_path)
    said = json.loads((tmp_path / "routes.json").read_text(encoding="utf-8"))["traffic"]
    assert findings == ""
    assert said["rows_leaving"] == rows_leaving
    shown = subprocess.run(
        [sys.executable, "-m", "hpplan", "route", str(tmp_path / "routes.json")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert preview.splitlines()[1:] == shown.stdout.splitlines()[1:]
    written = (tmp_path / "normalized.yaml").read_text(encoding="utf-8")
    assert (
        hpplan.load_plan("sample_plans/qwen3_vl_30b_a3b.normalized.yaml").data
        == hpplan.load_plan(tmp_path / "normalized.yaml").data
    )
    assert "normalization:" in written


def test_importing_is_free() -> None:
    """Importing the package alone imports what few of its users need."""
    code = (
        "import sys, hpplan\n"
        "heavy = {'click', 'dataclasses', 'pathlib', 'pydantic_core', 'rich', 'torch', 'yaml'}\n"
        "print(sorted(heavy & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_there_is_one_way_to_import_late(root: Path) -> None:
    """What is imported late hides from type checkers and from the contracts between packages."""
    hidden = [
        path.name
        for path in root.joinpath("hpplan").rglob("*.py")
        if re.search(r"import_module|__import__", path.read_text(encoding="utf-8"))
    ]
    assert hidden == ["late.py"]


def test_normalizing_from_python_needs_no_more_imports() -> None:
    """A plan's rules, the known strategies and the record have to be put together by whoever calls."""
    normalized = hpplan.normalize(hpplan.load_plan(PLAN))
    assert [(change.fqn, change.field, change.before, change.after) for change in normalized.changes] == [
        ("a", "boundary_classes", "Gone", None),
        ("a", "is_boundary", True, False),
    ]
    assert normalized.plan.data["normalization"]["stripped"] == {
        "a": {"class": "Gone", "pass": "external-state-strip", "pattern": "Gone"}
    }
    bare = hpplan.normalize(hpplan.load_plan(PLAN), passes=["external-state-strip"], record=False)
    assert bare.plan.data == {
        "param_plan": {"a": {"is_boundary": False}},
        "boundary_classes": {},
        "external_state_classes": ["Gone"],
    }
    with pytest.raises(hpplan.UnusableRequest, match="'strip' is no pass here; the passes are ep-strip, "):
        hpplan.normalize(hpplan.load_plan(PLAN), passes=["strip"])


def test_checking_from_python() -> None:
    """What `hpplan validate` finds is not to be had without a process, or not with data."""
    sources = hpplan.Sources()
    found = hpplan.check(PLAN, {"param_plan": []}, sources=sources)
    assert {item.code.name for item in found} >= {"missing-field", "not-normalized"}
    assert hpplan.check(PLAN, select=["not-normalized"], ignore=["HP2"]) == []
    with pytest.raises(hpplan.UnusableRequest, match="ignore: no code is called 'not-normal'; did you mean"):
        hpplan.check(PLAN, ignore=["not-normal"])
    assert hpplan.report([], format_name="json") == "[]\n"
    with pytest.raises(hpplan.UnusableRequest, match="format_name is one of full, concise, "):
        hpplan.report([], format_name="xml")


def test_comparing_from_python() -> None:
    """Two plans are compared by file, or a plan with a table."""
    before, after = hpplan.load_plan(PLAN), hpplan.load_plan({**PLAN, "model_type": "m"})
    assert hpplan.compare(before, before).equal
    assert [change.field for change in hpplan.compare(before, after).fields] == ["model_type"]
    table = hpplan.plan_routes(hpplan.parse_mesh("cp=2"), hpplan.load_workload(WORKLOAD))
    assert hpplan.compare(table, table).equal
    with pytest.raises(hpplan.UnusableRequest, match="cannot be compared"):
        hpplan.compare(before, table)


def test_routes_come_from_data_and_go_to_it() -> None:
    """A trainer that has plain data has to make up a document for it."""
    table = hpplan.plan_routes(hpplan.parse_mesh("cp=2"), hpplan.load_workload(WORKLOAD))
    again = hpplan.load_routes(json.loads(hpplan.document_text(table, "json")))
    assert again.digest == table.digest
    with pytest.raises(hpplan.InvalidInput, match="the field `items` is missing"):
        hpplan.load_workload({"sequence": {"length": 8}})
    with pytest.raises(hpplan.UnusableRequest, match="routes is a workload, and `"):
        hpplan.load_routes(WORKLOAD)


def test_micro_batches_from_python() -> None:
    """One of several is not to be had, or nobody hears that there are several."""
    several = {"micro_batches": [WORKLOAD, {**WORKLOAD, "items": []}]}
    assert [len(one.batches[0].items) for one in hpplan.load_micro_batches(several)] == [1, 0]
    assert hpplan.load_workload(several, micro_batch=1).batches[0].items == ()
    for picked, message in ((None, "2 micro-batches; pick one"), (2, "micro-batches 0 to 1")):
        with pytest.raises(hpplan.UnusableRequest, match=message):
            hpplan.load_workload(several, micro_batch=picked)


def test_links_that_there_are_not() -> None:
    """Times are estimated for a link that moves nothing, or back in time."""
    table = hpplan.plan_routes(hpplan.parse_mesh("cp=2"), hpplan.load_workload(WORKLOAD))
    for link, said in (
        (hpplan.Link(0.0), "bandwidth: 0.0 is not a positive number"),
        (hpplan.Link(1e9), "bandwidth: 1000000000.0 GB/s is no link's"),
        (hpplan.Link(50.0, -1.0), "latency: -1.0 is not a number of microseconds"),
        (hpplan.Link(float("nan")), "bandwidth: nan is not a positive number"),
    ):
        with pytest.raises(hpplan.UnusableRequest, match=said):
            hpplan.preview(table, link=link)
        with pytest.raises(hpplan.UnusableRequest, match=said):
            hpplan.compare_ways(table, hpplan.Links(link))


def test_a_mesh_from_python() -> None:
    """A caller of the library has given no `--mesh`."""
    with pytest.raises(hpplan.InvalidInput, match="mesh: HP4"):
        hpplan.parse_mesh("cp=x")
    with pytest.raises(hpplan.UnusableRequest, match="no parallel_dims"):
        hpplan.mesh_of_plan(hpplan.load_plan(PLAN))


@pytest.mark.parametrize("format_name", ["table", "json", "html", "svg", "csv"])
def test_previews_of_many(tmp_path: Path, format_name: str) -> None:
    """Statistics and meshes are shown otherwise than by the command."""
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"micro_batches": [WORKLOAD, WORKLOAD]}))
    batches, meshes = hpplan.load_micro_batches(path), [hpplan.parse_mesh("cp=2"), hpplan.parse_mesh("cp=4")]
    for shown, found in (
        (("--mesh", "cp=2"), hpplan.statistics(meshes[0], batches, name=str(path))),
        (("--mesh", "cp=2", "--mesh", "cp=4"), hpplan.compare_meshes(meshes, batches, name=str(path))),
    ):
        command = [sys.executable, "-m", "hpplan", "route", str(path), *shown, "--format", format_name]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
        assert hpplan.preview(found, format_name) == printed
        with pytest.raises(hpplan.UnusableRequest, match="are for one routing table"):
            hpplan.preview(found, format_name, rank=0)
