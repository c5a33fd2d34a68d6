"""`hpplan route --compare`, statistics over micro-batches, and the pages, as people call them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

WORKLOAD = {
    "sequence": {"length": 32, "cp_layout": "zigzag"},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 8},
    ],
    "buckets": [[0], [1], [], []],
}
TEXT_ONLY = {"sequence": {"length": 32, "cp_layout": "zigzag"}, "items": []}
MESH = ("--mesh", "cp=2,tp=2")
ALL_AXES = ("--mesh", "pp=1,dp=1,cp=2,tp=2")


@pytest.fixture
def one(tmp_path: Path) -> str:
    """Return the path of a workload."""
    path = tmp_path / "one.json"
    path.write_text(json.dumps(WORKLOAD))
    return str(path)


@pytest.fixture
def many(tmp_path: Path) -> str:
    """Return the path of a document with two micro-batches."""
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"micro_batches": [WORKLOAD, TEXT_ONLY]}))
    return str(path)


def test_compare(hpplan: Runner, one: str) -> None:
    """The three ways stand side by side, with the one to take and how to take it."""
    result = hpplan("route", one, *MESH, "--compare", "--bandwidth", "1", "--latency", "5")
    assert result.status == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "way collectives rows moved bytes moved busiest rank estimated time" in lines
    assert "record 1 54 108 B 60 B 5.1 us" in lines
    assert "row 1 29 58 B 34 B 5.0 us" in lines
    assert "once 2 29 58 B 26 B 10.0 us" in lines
    assert lines[-1].startswith("Take row: it takes the least estimated time. Run it with --granularity row.")


def test_compare_as_data(hpplan: Runner, one: str) -> None:
    """JSON and YAML say the same, for programs."""
    options = ("--compare", "--ranks-per-node", "2")
    as_json = json.loads(hpplan("route", one, *MESH, *options, "--format", "json").stdout)
    assert yaml.safe_load(hpplan("route", one, *MESH, *options, "--format", "yaml").stdout) == as_json
    assert [(way["name"], way["rows_between_nodes"]) for way in as_json["ways"]] == [
        ("record", 36),
        ("row", 22),
        ("once", 11),
    ]
    assert as_json["take"] == "once"


def test_compare_of_a_table(hpplan: Runner, one: str, tmp_path: Path) -> None:
    """A routing table that was written before is compared as well as its workload."""
    table = str(tmp_path / "routes.json")
    assert hpplan("route", one, *MESH, "-o", table).status == 0
    assert hpplan("route", table, "--compare").stdout == hpplan("route", one, *MESH, "--compare").stdout != ""


def test_statistics(hpplan: Runner, many: str) -> None:
    """Two micro-batches: each policy in each table, and micro-batch 0 the worst of both."""
    result = hpplan("route", many, *MESH)
    assert result.status == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "over 2 micro-batches" in lines
    # Rows 10 and 8 on four producers: 10 against a mean of 4.5, and 1 in the micro-batch without images.
    assert "lpt 1.611 2.222 2.222 0" in lines
    assert sum(line.startswith("round-robin ") for line in lines) == 7
    assert "Least p95" in lines


def test_statistics_as_data(hpplan: Runner, many: str) -> None:
    """Programs get the same numbers; whole ones stay whole."""
    found = json.loads(hpplan("route", many, *MESH, "--format", "json", "--bandwidth", "1").stdout)
    assert found["micro_batches"] == 2
    rows = found["policies"]["lpt"]["rows_leaving"]
    assert rows == {"median": 27.0, "p95": 54, "worst": 54, "worst_at": 0}
    assert found["policies"]["lpt"]["seconds"]["worst"] == pytest.approx(60e-9)


def test_one_micro_batch_is_picked(hpplan: Runner, many: str, one: str) -> None:
    """`--micro-batch` routes one as if it stood alone, counted from 0."""
    picked = hpplan("route", many, *MESH, "--micro-batch", "0")
    assert picked.stdout == hpplan("route", one, *MESH).stdout
    assert hpplan("route", one, *MESH, "--micro-batch", "0").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--micro-batch", "2"], "micro-batches 0 to 1"),
        (["--rank", "0"], "--rank shows one micro-batch"),
        (["--mesh", "cp=2", "--rank", "0"], "--rank shows one mesh; give one"),
        (["--mesh", "cp=2", "--ranks-per-node", "2"], "--ranks-per-node is not for several meshes"),
        (["--compare"], "--compare shows one micro-batch"),
        (["--export", "nccl-matrix"], "--export shows one micro-batch"),
        (["--micro-batch", "0", "--compare", "--rank", "0"], "leave out --rank"),
        (
            ["--micro-batch", "0", "--compare", "--format", "svg"],
            "svg does not show ways side by side",
        ),
        (["--micro-batch", "0", "--compare", "--export", "nccl-matrix"], "leave out --compare"),
        (["--micro-batch", "0", "--format", "html", "--rank", "0"], "shows all ranks"),
        (["--ranks-per-node", "2"], "--ranks-per-node is not for statistics over micro-batches"),
        (["--assign", "lpt", "--load-factor", "2"], "--load-factor is for --assign local"),
        (["--micro-batch", "0", "--node-bandwidth", "9"], "needs --bandwidth and --ranks-per-node"),
        (
            ["--bandwidth", "1", "--ranks-per-node", "2", "--node-bandwidth", "0"],
            "is not a positive number of GB/s",
        ),
    ],
)
def test_usage(hpplan: Runner, many: str, arguments: list[str], words: str) -> None:
    """Options that do not go together are refused with a way out."""
    result = hpplan("route", many, *MESH, *arguments)
    assert (result.status, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.split())


def test_load_factor_of_all_policies(hpplan: Runner, many: str) -> None:
    """Statistics over all policies have 'local' among them, and refuse what it heeds."""
    assert hpplan("route", many, *MESH, "--load-factor", "2").status == 0
    assert hpplan("route", many, *MESH, "--assign", "local", "--load-factor", "2").status == 0


def test_a_plan_with_micro_batches(hpplan: Runner, many: str, tmp_path: Path) -> None:
    """A plan may carry, or be given, many micro-batches too; `compile` wants one of them."""
    plan = tmp_path / "plan.json"
    dims = {"cp_size": 2, "tp_size": 2}
    plan.write_text(json.dumps({"param_plan": {}, "boundary_classes": {}, "parallel_dims": dims}))
    assert (
        hpplan("route", str(plan), "--workload", many).stdout == hpplan("route", many, *ALL_AXES).stdout != ""
    )
    result = hpplan("compile", str(plan), "--workload", many, "-o", str(tmp_path / "out"))
    assert result.status == 2
    assert "pick one with --micro-batch K, from 0 to 1" in " ".join(result.stderr.split())


def test_bad_micro_batches(hpplan: Runner, tmp_path: Path) -> None:
    """What is wrong with any micro-batch is reported where it stands."""
    path = tmp_path / "bad.json"
    path.write_text('{"micro_batches": [\n  {"sequence": {"length": 8}, "items": []},\n  {"items": []}\n]}\n')
    result = hpplan("route", str(path), *MESH)
    assert result.status == 1
    assert result.stderr.startswith(f"{path}:3:3: HP411")
    assert "HP411" in hpplan("validate", str(path), *MESH).stdout


def test_validate_knows_micro_batches(hpplan: Runner, many: str) -> None:
    """`hpplan validate` checks each workload of such a document on its mesh."""
    assert hpplan("validate", many, *MESH).status == 0
    assert "HP422" in hpplan("validate", many, "--mesh", "cp=2").stdout


def test_pages_by_name(hpplan: Runner, one: str, tmp_path: Path) -> None:
    """The name of the file says which picture is meant; --format does, too."""
    for name, start in (("page.html", "<!DOCTYPE html>"), ("heat.svg", "<?xml")):
        result = hpplan("route", one, *MESH, "-o", str(tmp_path / name))
        assert (result.status, result.stdout) == (0, "")
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith(start)
        assert hpplan("route", one, *MESH, "--format", name.split(".")[1]).stdout == text


@pytest.mark.parametrize("mesh", ["cp=2,tp=4", "dp=2,cp=2", "tp=1", "cp=4,tp=4,sp"])
def test_meshes_that_buckets_were_not_filled_for(hpplan: Runner, one: str, many: str, mesh: str) -> None:
    """Buckets of another mesh are a dead end: the same items are assigned anew, and a note says so."""
    note = f"are for another mesh than {mesh}; --assign lpt fills them anew"
    result = hpplan("route", one, "--mesh", mesh, "--format", "json")
    assert (result.status, note in result.stderr) == (0, True)
    buckets = json.loads(result.stdout)["parents"][0]["buckets"]
    producers = {"cp=2,tp=4": 8, "dp=2,cp=2": 2, "tp=1": 1, "cp=4,tp=4,sp": 16}[mesh]
    # By lpt the larger item goes to the first producer, the other to the next.
    wanted = [[0, 1]] if producers == 1 else [[0], [1], *[[]] * (producers - 2)]
    assert buckets == wanted
    result = hpplan("route", many, "--mesh", mesh, "--format", "json")
    assert (result.status, note in result.stderr) == (0, True)
    assert set(json.loads(result.stdout)["policies"]) == {"lpt", "round-robin", "contiguous", "local"}


def test_meshes_side_by_side(hpplan: Runner, one: str, many: str) -> None:
    """--mesh given twice shows both: 18 rows on four producers and on two, 10 the largest of either."""
    meshes = (*MESH, "--mesh", "cp=2")
    result = hpplan("route", one, *meshes)
    assert result.status == 0
    assert "buckets in the input are left aside; --assign lpt fills them for each mesh" in result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "lightest busiest producer all the same: 10" in lines
    assert "best balanced cp=2: 1.11 times the mean" in lines
    assert any(line.startswith("cp=2,tp=2 4 10 4.5 2.22 2 ") for line in lines)
    assert any(line.startswith("cp=2 2 10 9.0 1.11 0 ") for line in lines)
    found = json.loads(hpplan("route", many, *meshes, "--assign", "contiguous", "--format", "json").stdout)
    assert (found["micro_batches"], found["policy"]) == (2, "contiguous")
    assert [(one["mesh"], one["ranks"]) for one in found["meshes"]] == [("cp=2,tp=2", 4), ("cp=2", 2)]
    for name in ("html", "svg", "csv", "yaml"):
        assert hpplan("route", one, *meshes, "--format", name).status == 0


def test_all_meshes_that_do_not_fit_are_named(hpplan: Runner, one: str) -> None:
    """One mesh that does not fit hides the next."""
    result = hpplan("route", one, *MESH, "--mesh", "cp=3", "--mesh", "cp=5")
    assert (result.status, result.stdout) == (1, "")
    assert "cp=3" in result.stderr
    assert "cp=5" in result.stderr
    result = hpplan("route", one, *MESH, "--mesh", "cq=3", "--mesh", "xp=5")
    assert result.status == 2
    assert "`cq`" in result.stderr
    assert "`xp`" in result.stderr


def test_buckets_of_another_mesh_are_not_run(hpplan: Runner, one: str) -> None:
    """What runs is what the input says: another mesh is refused there, as by `hpplan validate`."""
    result = hpplan("exec", one, "--mesh", "cp=2", "--launch", "2")
    assert (result.status, "HP422" in result.stderr) == (1, True)
    assert "Note:" not in hpplan("route", one, *MESH).stderr


@pytest.mark.parametrize("name", ["many.html", "many.svg", "many.csv", "many.yaml"])
def test_pages_of_many_by_name(hpplan: Runner, many: str, tmp_path: Path, name: str) -> None:
    """A format that shows one micro-batch shows many, and the file's name says which format."""
    result = hpplan("route", many, *MESH, "-o", str(tmp_path / name))
    assert (result.status, result.stdout) == (0, "")
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert hpplan("route", many, *MESH, "--format", name.split(".")[1]).stdout == text != ""


def test_statistics_of_one_policy(hpplan: Runner, many: str) -> None:
    """A policy that is asked for stands among those that are not, or is ignored."""
    options = ("--assign", "local", "--cost", "rows^2", "--format", "json")
    found = json.loads(hpplan("route", many, *MESH, *options).stdout)
    assert list(found["policies"]) == ["local"]
    assert found["cost"] == "rows^2"


@pytest.mark.parametrize("picked", [(), ("--micro-batch", "0")])
def test_fields_beside_micro_batches(hpplan: Runner, tmp_path: Path, picked: tuple[str, ...]) -> None:
    """Items beside the list of micro-batches are lost without a word."""
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"micro_batches": [WORKLOAD], "items": [], "sequence": {}}))
    result = hpplan("route", str(path), *MESH, *picked)
    assert (result.status, result.stdout) == (1, "")
    assert "`items` stands beside `micro_batches`" in result.stderr
    assert "`sequence` stands beside `micro_batches`" in result.stderr
    path.write_text(json.dumps({"micro_batches": [WORKLOAD], "note": 1}))
    result = hpplan("route", str(path), *MESH, *picked)
    assert result.status == 0
    assert "`note` is not known" in result.stderr


def test_assign_beside_buckets(hpplan: Runner, one: str, many: str) -> None:
    """A policy that is asked for is ignored without a word.

    Of 18 rows on four producers, 4.5 each, the middles of the items are at 5 and 14: producers 1 and 3.
    """
    result = hpplan("route", one, *MESH, "--assign", "contiguous", "--format", "json")
    assert json.loads(result.stdout)["parents"][0]["buckets"] == WORKLOAD["buckets"]
    assert f"the buckets in {one} count, and --assign contiguous does not; remove `buckets`" in result.stderr
    options = (*MESH, "--micro-batch", "0")
    picked = hpplan("route", many, *options, "--assign", "contiguous", "--format", "json")
    assert json.loads(picked.stdout)["parents"][0]["buckets"] == [[], [0], [], [1]]
    assert "--assign contiguous fills them anew" in picked.stderr
    assert "assigned by contiguous" in hpplan("route", many, *options, "--assign", "contiguous").stdout
    for quiet in (hpplan("route", many, *options), hpplan("route", many, *MESH, "--assign", "lpt")):
        assert "--assign" not in quiet.stderr


def test_help_says_what_needs_one_micro_batch(hpplan: Runner) -> None:
    """Whoever reads the help learns from a refusal that a rank is one of one micro-batch."""
    text = " ".join(hpplan("route", "--help").stdout.split())
    assert "--export, --rank and --compare need a single micro-batch." in text
