"""`hpplan compile`: two files or none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hpplan.documents.reader import read_document
from hpplan.routing.routes_document import load_routes

if TYPE_CHECKING:
    from conftest import Runner


@pytest.fixture
def plan(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a sample plan with a feature exchange; the working directory is an empty one."""
    monkeypatch.chdir(tmp_path)
    return str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")


def test_compile_writes_what_the_two_commands_write(hpplan: Runner, plan: str) -> None:
    """The compiled plan or table differs from that of normalize or route."""
    rules = plan.replace(".yaml", ".rules.yaml")
    result = hpplan("compile", plan, "--rules", rules, "-o", "out/put")
    assert result.status == 0
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == [
        str(Path("out", "put", "plan.yaml")),
        str(Path("out", "put", "routes.json")),
    ]
    assert sorted(path.name for path in Path("out/put").iterdir()) == ["plan.yaml", "routes.json"]
    assert (
        Path("out/put/plan.yaml").read_text(encoding="utf-8")
        == hpplan("normalize", plan, "--rules", rules).stdout
    )
    routes = hpplan("route", plan, "--format", "json").stdout
    assert Path("out/put/routes.json").read_text(encoding="utf-8") == routes
    assert load_routes(read_document("out/put/routes.json")).digest in result.stdout


def test_options_reach_the_routes(hpplan: Runner, plan: str) -> None:
    """An option of route is ignored by compile."""
    assert (
        hpplan("compile", plan, "--mesh", "cp=4", "--granularity", "row", "--bare", "-o", "out").status == 0
    )
    table = load_routes(read_document("out/routes.json"))
    assert str(table.mesh) == "cp=4"
    assert table.granularity == "row"
    assert "normalization" not in read_document("out/plan.yaml").data


def test_a_json_plan_stays_json(hpplan: Runner, plan: str) -> None:
    """A trainer that reads codegen_meta.json gets YAML."""
    Path("plan.json").write_text(hpplan("normalize", plan, "--format", "json").stdout, encoding="utf-8")
    assert hpplan("compile", "plan.json", "-o", "out").status == 0
    assert read_document("out/plan.json").source.format == "json"


def test_nothing_is_written_on_a_failure(hpplan: Runner, plan: str) -> None:
    """A fault of the workload leaves a plan without its table, or is reported alone."""
    text = Path(plan).read_text(encoding="utf-8").replace("length: 4096", "length: 4097")
    Path("plan.yaml").write_text(text.replace("boundary_classes:", "boundary_klasses:"), encoding="utf-8")
    result = hpplan("compile", "plan.yaml", "-o", "out")
    assert (result.status, result.stdout) == (1, "")
    assert "HP101" in result.stderr
    assert "HP431" in result.stderr
    assert not Path("out").exists()
    Path("file").write_text("", encoding="utf-8")
    assert hpplan("compile", plan, "-o", "file").status == 2
    assert hpplan("compile", plan, "--rank", "3", "-o", "out").status == 2
    assert hpplan("compile", plan).status == 2


def test_a_plan_without_a_workload(hpplan: Runner, tmp_path: Path) -> None:
    """The way out that is named is that of another command."""
    path = tmp_path / "plan.yaml"
    path.write_text("param_plan: {}\nboundary_classes: {}\nparallel_dims: {cp_size: 2}\n")
    result = hpplan("compile", str(path), "-o", str(tmp_path / "out"))
    assert result.status == 1
    assert f"hpplan compile {path} --workload FILE" in result.stderr
    assert f"hpplan route {path} --workload FILE" in hpplan("route", str(path)).stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"hpplan_routes": 1}', "is a routing table"), ("param_plan: {}\n", "is a plan")],
)
def test_a_workload_that_is_none(hpplan: Runner, tmp_path: Path, text: str, words: str) -> None:
    """Another document for --workload is a list of missing fields."""
    path, other = tmp_path / "plan.yaml", tmp_path / "other"
    path.write_text("param_plan: {}\nboundary_classes: {}\nparallel_dims: {cp_size: 2}\n")
    other.write_text(text)
    result = hpplan("compile", str(path), "--workload", str(other), "-o", str(tmp_path / "out"))
    assert (result.status, result.stdout) == (2, "")
    assert words in result.stderr
