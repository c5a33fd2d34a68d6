"""`hpplan compile`: two files or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hpplan.documents.reader import read_document
from hpplan.routing.routes_document import load_routes

if TYPE_CHECKING:
    from conftest import Runner


MESH = "dp=2,cp=4,tp=2,sp"
"""With the axes of the sample plan in other sizes."""


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
    assert hpplan("normalize", plan, "--rules", rules, "-o", "out/put/again.yaml").status == 0
    assert Path("out/put/plan.yaml").read_bytes() == Path("out/put/again.yaml").read_bytes()
    routes = hpplan("route", plan, "--format", "json").stdout
    assert Path("out/put/routes.json").read_text(encoding="utf-8") == routes
    assert load_routes(read_document("out/put/routes.json")).digest in result.stdout


def test_options_reach_the_routes(hpplan: Runner, plan: str) -> None:
    """An option of route is ignored by compile."""
    assert hpplan("compile", plan, "--mesh", MESH, "--granularity", "row", "--bare", "-o", "out").status == 0
    table = load_routes(read_document("out/routes.json"))
    assert str(table.mesh) == MESH
    assert table.granularity == "row"
    assert "normalization" not in read_document("out/plan.yaml").data


def test_a_json_plan_stays_json(hpplan: Runner, plan: str) -> None:
    """A trainer that reads codegen_meta.json gets YAML."""
    Path("plan.json").write_text(hpplan("normalize", plan, "--format", "json").stdout, encoding="utf-8")
    assert hpplan("compile", "plan.json", "-o", "out").status == 0
    assert read_document("out/plan.json").source.format == "json"
    text = Path("plan.json").read_text(encoding="utf-8")
    Path("plan.json").write_text(text.rstrip("}\n") + "},}", encoding="utf-8")
    assert hpplan("compile", "plan.json", "-o", "edited").status == 0
    assert read_document("edited/plan.json").source.format == "json"


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


OTHER = {
    "sequence": {"length": 64},
    "items": [{"item_id": 7, "batch_index": 0, "decoder_token_start": 3, "output_rows": 20}],
}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--mesh", MESH),
        ("--cp-layout", "contiguous"),
        ("--cp-layout", "zigzag"),
        ("--pad",),
        ("--workload", "other.json"),
        ("--workload", "other.json", "--mesh", "dp=4,cp=2,tp=4,sp", "--cp-layout", "zigzag", "--bare"),
        ("--workload", "many.json", "--micro-batch", "1", "--assign", "local"),
    ],
)
def test_the_pair_agrees(hpplan: Runner, plan: str, options: tuple[str, ...]) -> None:
    """`hpplan validate` refuses the two files that `hpplan compile` has just written."""
    buckets: list[list[int]] = [[], [7], *([] for _ in range(6))]
    Path("other.json").write_text(json.dumps(OTHER), encoding="utf-8")
    many = {"micro_batches": [OTHER, {**OTHER, "buckets": buckets}]}
    Path("many.json").write_text(json.dumps(many), encoding="utf-8")
    rules = plan.replace(".yaml", ".rules.yaml")
    assert hpplan("compile", plan, "--rules", rules, *options, "-o", "out").status == 0
    result = hpplan("validate", "out/plan.yaml", "out/routes.json")
    assert (result.status, "HP504" in result.stdout) == (0, False)
    own = hpplan("route", "out/plan.yaml", "--format", "json").stdout
    assert json.loads(own)["mesh"]["sp"] is load_routes(read_document("out/routes.json")).mesh.sp


def test_fields_that_a_workload_does_not_have_stay(hpplan: Runner, plan: str) -> None:
    """Somebody's own notes get lost where one option changes the workload."""
    data = read_document(plan).data
    spans = [{"token_start": 3, "rows": 4, "frame": 0}, {"token_start": 11, "rows": 4, "frame": 1}]
    item = {"item_id": 0, "batch_index": 0, "output_rows": 8, "spans": spans, "file": "cat.mp4"}
    own = {"sequence": {"length": 61, "note": "odd"}, "items": [item], "source": "train"}
    Path("noted.json").write_text(json.dumps({**data, "feature_exchange": own}), encoding="utf-8")
    assert hpplan("compile", "noted.json", "--pad", "--bare", "-o", "out").status == 0
    assert json.loads(Path("out/plan.json").read_text(encoding="utf-8"))["feature_exchange"] == {
        "source": "train",
        "feature_width": 1,
        "dtype": "bfloat16",
        "payloads": 1,
        "encoder_cp_size": 1,
        "sequence": {"length": 61, "cp_layout": "contiguous", "pad": True, "note": "odd"},
        "items": [{**item, "decoder_token_start": 3}],
    }


def test_another_mesh_is_written_and_said(hpplan: Runner, plan: str) -> None:
    """The sizes of a plan change without a word, or its other sizes with them."""
    result = hpplan("compile", plan, "--mesh", MESH, "-o", "out")
    assert result.status == 0
    assert (
        f"Warning: --mesh {MESH} is not the plan's pp=1,dp=2,cp=2,tp=4,ep=8,sp; "
        "the compiled plan gets its sizes in parallel_dims." in result.stderr
    )
    assert read_document("out/plan.yaml").data["parallel_dims"] == {
        "cp_size": 4,
        "dp_size": 2,
        "ep_size": 8,
        "pp_size": 1,
        "sequence_parallel": True,
        "tp_size": 2,
    }
    assert "Warning" not in hpplan("compile", plan, "--mesh", "dp=2,cp=2,tp=4,sp", "-o", "out").stderr
    strict = hpplan("compile", plan, "--mesh", MESH, "--strict", "-o", "strict")
    assert strict.status != 0
    assert not Path("strict").exists()


def test_a_plan_that_names_axes_without_sizes(hpplan: Runner, plan: str) -> None:
    """The compiled plan redistributes over tp alone, and the routes are those of cp and tp."""
    del plan
    Path("plan.yaml").write_text(
        "mesh_dim_names: [tp]\nboundary_classes: {}\nparam_plan: {a: {}}\n"
        "feature_exchange: {sequence: {length: 16}, items: []}\n",
        encoding="utf-8",
    )
    refused = hpplan("compile", "plan.yaml", "--mesh", "cp=2,tp=2,sp", "-o", "out")
    assert (refused.status, refused.stdout) == (2, "")
    assert "mesh_dim_names are tp, and --mesh is cp=2,tp=2,sp" in refused.stderr
    assert not Path("out").exists()
    assert hpplan("compile", "plan.yaml", "--mesh", "dp=2,tp=2,sp", "-o", "out").status == 0
    assert hpplan("validate", "out/plan.yaml", "out/routes.json").status == 0


@pytest.mark.parametrize(
    ("mesh", "says"),
    [
        ("cp=4,tp=2", "which leaves out dp; change parallel_dims, mesh_dim_names and the placements"),
        ("pp=2,dp=2,cp=2,tp=4", "which makes active pp"),
        ("dp=2,tp=4,cp=2,sp", "in the order pp, dp, cp, tp"),
        ("dp=2,cp=2,tp=3", "ep=8 of the plan does not divide dp x cp x tp = 12"),
        ("dp=2,cp=2,tp=4,ep=4", "leave out ep"),
        (
            "dp=2,cp=4,tp=2",
            "which leaves out sp; change sequence_parallel and the placements",
        ),
    ],
)
def test_a_mesh_for_another_plan(hpplan: Runner, plan: str, mesh: str, says: str) -> None:
    """A plan is written whose placements are not for its mesh."""
    Path("other.json").write_text(json.dumps({**OTHER, "sequence": {"length": 48}}), encoding="utf-8")
    result = hpplan("compile", plan, "--mesh", mesh, "--workload", "other.json", "-o", "out")
    assert (result.status, result.stdout) == (2, "")
    assert says in " ".join(result.stderr.split())
    assert not Path("out").exists()


MESHES = (
    "dp=2,cp=2,tp=4,sp dp=2,cp=4,tp=2,sp dp=4,cp=2,tp=2,sp,ep=8 pp=1,dp=2,cp=2,tp=4,sp cp=2,tp=4,sp "
    "dp=2,tp=8,sp pp=2,dp=2,cp=2,tp=2,sp cp=2,dp=2,tp=4,sp dp=2,cp=2,tp=4 dp=2,cp=2,tp=4,ep=4,sp "
    "dp=2,cp=2,tp=3,sp"
)


@pytest.mark.parametrize("mesh", MESHES.split())
def test_all_commands_hold_a_mesh_against_the_plan(hpplan: Runner, plan: str, mesh: str) -> None:
    """A mesh that `compile` refuses passes `validate`, or `route` shows it without a word."""
    made = hpplan("compile", plan, "--mesh", mesh, "--pad", "-o", "out")
    found = hpplan("validate", plan, "--mesh", mesh, "--select", "HP441")
    shown = hpplan("route", plan, "--mesh", mesh, "--pad")
    assert {(0, 0): True, (2, 1): False}[made.status, found.status] == (found.stdout == "")
    reasons = {line for line in found.stdout.splitlines() if "HP441 error" in line}
    spoken = [result.stderr.replace("HP441 warning", "HP441 error") for result in (made, shown)]
    assert all(
        {f"{line} [mesh-contradicts-plan]" for line in text.splitlines() if "HP441" in line} == reasons
        for text in spoken
    )
    assert shown.status == 0


@pytest.mark.parametrize("mesh", ["cp2", "cp=0", "nope=2"])
def test_a_bad_mesh_is_a_bad_option(hpplan: Runner, plan: str, mesh: str) -> None:
    """The plan gets the blame, with status 1, for what was typed wrong."""
    result = hpplan("compile", plan, "--mesh", mesh, "-o", "out")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.startswith("--mesh:")
    assert not Path("out").exists()


def test_two_files_need_a_folder(hpplan: Runner, plan: str) -> None:
    """A folder called `-` turns up instead of what somebody wanted to see."""
    result = hpplan("compile", plan, "-o", "-")
    assert (result.status, result.stdout) == (2, "")
    assert "two files need a folder" in result.stderr
    assert not Path("-").exists()
