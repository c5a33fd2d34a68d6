"""The JSON Schemas in `schemas/`: fresh, valid, and right about the samples."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document, read_document
from hpplan.plan.model import KEY_ORDER as PLAN_ORDER
from hpplan.plan.rules import RULES_FILE
from hpplan.reports.json_schema import json_schema, render
from hpplan.routing.cluster import KEY_ORDER as LINKS_KEY_ORDER
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_writer import routes_to_data
from hpplan.shapes.shape import key_order
from hpplan.validation.kinds import WITH_SCHEMA, DocumentKind, key_order_of
from hpplan.validation.run import CheckRun
from hpplan.workload.shape import KEY_ORDER
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Runner

ROOT = Path(__file__).parents[2]
SAMPLE_PLANS = ROOT / "sample_plans"

each_kind = pytest.mark.parametrize("kind", WITH_SCHEMA, ids=lambda kind: kind.name)

SAMPLES = sorted(
    path
    for path in SAMPLE_PLANS.rglob("*.*")
    if path.name.endswith((".yaml", ".codegen_meta.json")) and "broken" not in path.parts
)


@cache
def validator(name: str) -> Draft202012Validator:
    """Return a validator for the committed schema of a kind of document."""
    text = (ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def schema_of(path: Path) -> str:
    """Return the schema that a file names in its first line, as an editor finds it."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# yaml-language-server: $schema=")
    named = (path.parent / first.partition("=")[2]).resolve()
    assert named.is_file(), named
    return named.name.removesuffix(".schema.json")


def faults(name: str, data: object) -> list[list[Any]]:
    """List the paths to what a schema rejects."""
    return sorted(list(error.absolute_path) for error in validator(name).iter_errors(data))


@each_kind
def test_committed_schemas_are_fresh(kind: DocumentKind) -> None:
    """A failure means that a model was changed and its schema was not: `hpplan schema NAME -o FILE`."""
    assert (ROOT / "schemas" / f"{kind.name}.schema.json").read_text(encoding="utf-8") == render(kind)


def test_a_dash_is_standard_output(hpplan: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file called `-` turns up, and nothing on standard output."""
    monkeypatch.chdir(tmp_path)
    assert hpplan("schema", "plan", "-o", "-").stdout == hpplan("schema", "plan").stdout
    assert list(tmp_path.iterdir()) == []


def test_no_schema_is_left_over() -> None:
    """A failure means that a schema in the folder belongs to no kind of document."""
    names = {path.name for path in (ROOT / "schemas").iterdir()}
    assert names == {f"{kind.name}.schema.json" for kind in WITH_SCHEMA}


@each_kind
def test_schemas_are_valid_and_say_what_they_are(kind: DocumentKind) -> None:
    """A failure means that an editor cannot use a schema, or shows its user nothing about it."""
    schema = json_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    assert schema["title"]
    assert schema["description"]


def fields_of(node: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - any part of a schema
    """Yield the name and the schema of each field that a JSON Schema names."""
    if isinstance(node, dict):
        properties = node.get("properties", {})
        yield from properties.items()
        for member in (*properties.values(), *(node[key] for key in node.keys() - {"properties"})):
            yield from fields_of(member)
    elif isinstance(node, list):
        for member in node:
            yield from fields_of(member)


@each_kind
def test_every_field_says_what_it_is(kind: DocumentKind) -> None:
    """A failure means that an editor shows a field and not what it is for."""
    assert [name for name, field in fields_of(json_schema(kind)) if not field.get("description")] == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples_are_valid(path: Path) -> None:
    """A failure means that an editor underlines something in a good file, or is not told what file it is."""
    name = "rules" if path.name.endswith(".rules.yaml") else "plan"
    if path.parent.name == "workloads":
        name = "workload"
    if path.parent.name == "links":
        name = "links"
    if path.suffix == ".yaml":
        assert schema_of(path) == name
    assert faults(name, read_document(str(path)).data) == []


def test_strategies_of_a_sample_are_a_valid_strategies_document() -> None:
    """A failure means that strategies cannot move from a rules file to one of their own."""
    data = read_document(str(SAMPLE_PLANS / "qwen3_vl_30b_a3b.rules.yaml")).data
    assert faults("strategies", {"strategies": data["strategies"]}) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("boundary_classes",), []),
        (("param_plan", "model.norm", "is_boundary"), "no"),
        (("param_plan", "model.norm", "params", "weight", "tp"), "Shard(0)"),
        (("param_plan", "model.norm", "in_src", "hidden_states", "tp"), "P()"),
        (("parallel_dims", "tp_size"), 0),
        (("external_state_classes",), "LlamaMLP"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else None,
)
def test_plan_schema_rejects(path: tuple[str, ...], value: object) -> None:
    """A failure means that an editor lets pass what `hpplan normalize` rejects."""
    data = copy.deepcopy(read_document(str(SAMPLE_PLANS / "llama3_8b.yaml")).data)
    node = data
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    assert faults("plan", data) == [list(path)]


@pytest.mark.parametrize("field", ["module_overrides", "injections"])
@pytest.mark.parametrize(
    ("record", "at_fault"),
    [
        ({"fqns": 1, "factory": "mycompany.Linear"}, ["fqns"]),
        ({"match": ["a", 1], "factory": "mycompany.Linear"}, ["match"]),
        ({"match": "a", "local_compute_fn": 3}, ["local_compute_fn"]),
        ({"match": "a", "when": True, "inner_wrapper": "f"}, ["when"]),
        ("a", []),
        ({"fqn": None, "match": "a", "factory": {"_target_": "mycompany.Linear", "bias": False}}, None),
        ({"fqn": "a", "replaced_by": 3}, None),
    ],
)
def test_plan_schema_and_validate_agree_on_rules(
    field: str, record: object, at_fault: list[str] | None
) -> None:
    """A failure means that an editor lets pass what `hpplan validate` rejects, or the other way round."""
    data = {"boundary_classes": {}, "param_plan": {"a": {}}, field: [record]}
    expected = [] if at_fault is None else [[field, 0, *at_fault]]
    run = CheckRun()
    run.check(parse_document(json.dumps(data).encode(), "p"))
    found = [[*item.place.path] for item in run.blocking if item.code.name == "mistyped-field"]
    # Where one of several types may stand, JSON Schema blames the whole value.
    assert [path[: len(expected[0])] if expected else path for path in found] == expected
    assert faults("plan", data) == expected


def test_workload_schema_rejects_and_allows() -> None:
    """A failure means that an editor misses a bad size, or underlines the plain item ids of destinations."""
    workload = {
        "sequence": {"length": 8},
        "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 4}],
        "destinations": {"0": [0]},
    }
    assert faults("workload", workload) == []
    workload["sequence"] = {"length": 0, "cp_layout": "zig-zag"}
    assert faults("workload", workload) == [["sequence", "cp_layout"], ["sequence", "length"]]


def test_feature_exchange_of_a_sample_is_a_valid_workload() -> None:
    """A failure means that the workload a plan carries is none."""
    data = read_document(str(SAMPLE_PLANS / "qwen3_vl_30b_a3b.yaml")).data
    assert faults("workload", data["feature_exchange"]) == []
    assert faults("micro-batches", {"micro_batches": [data["feature_exchange"]]}) == []
    assert faults("micro-batches", {"micro_batches": []}) == [["micro_batches"]]


def test_routing_table_of_a_sample_is_valid() -> None:
    """A failure means that `hpplan route` writes what its own schema rejects."""
    data = read_document(str(SAMPLE_PLANS / "qwen3_vl_30b_a3b.yaml")).data
    workload = load_workload(data["feature_exchange"], Place("workload"))
    table = routes_to_data(plan_routes(parse_mesh("dp=2,cp=2,tp=4,sp"), workload))
    assert faults("routes", table) == []
    table["digest"] = "sha256:0"
    assert faults("routes", table) == [["digest"]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rank", ["--rank", "3"]),
        ("rank", ["--rank", "40"]),
        ("rank", ["--rank", "all"]),
        ("comparison", ["--compare"]),
        (
            "comparison",
            ["--compare", "--ranks-per-node", "8", "--bandwidth", "50", "--node-bandwidth", "400"],
        ),
        ("statistics", []),
        ("statistics", ["--bandwidth", "50", "--cost", "rows^2"]),
        ("meshes", ["--mesh", "dp=2", "--bandwidth", "50"]),
    ],
)
def test_answers_of_route_are_valid(name: str, arguments: list[str], hpplan: Runner, tmp_path: Path) -> None:
    """A failure means that a program which checks what `hpplan route` answers turns it down."""
    path = SAMPLE_PLANS / "workloads" / "qwen3_vl_30b_a3b.mixed.yaml"
    if name == "statistics":
        workload = read_document(str(path)).data
        path = tmp_path / "many.json"
        path.write_text(json.dumps({"micro_batches": [workload, workload]}), encoding="utf-8")
    mesh = "pp=2,dp=2,cp=2,tp=2" if "all" in arguments else "pp=2,dp=2,cp=2,tp=8,ep=4"
    answer = hpplan("route", str(path), "--mesh", mesh, *arguments, "--format", "json")
    data = json.loads(answer.stdout)
    assert faults(name, data) == []
    short = {field: value[:1] if isinstance(value, list) else value for field, value in data.items()}
    assert faults(name, short) == []
    for field, value in short.items():
        # Every field is known, and missed where it is not there.
        assert faults(name, {**short, f"{field}_": value}) != []
        assert faults(name, {key: value for key, value in short.items() if key != field}) != []


def test_other_answers_are_valid(hpplan: Runner) -> None:
    """The same for programs that read findings and differences."""
    broken = sorted(str(path) for path in (SAMPLE_PLANS / "broken").glob("d*.yaml"))
    found = json.loads(hpplan("validate", *broken, "--output-format", "json").stdout)
    assert any(item["related"] for item in found)
    assert faults("findings", found) == []
    assert faults("findings", [{**found[0], "line": 0}]) == [[0, "line"]]
    for other, what in (("deepseek_v3.normalized.yaml", "changed"), ("llama3_8b.yaml", "fields")):
        plans = (str(SAMPLE_PLANS / name) for name in ("deepseek_v3.yaml", other))
        differences = json.loads(hpplan("diff", *plans, "--format", "json").stdout)
        assert differences[what]
        assert faults("differences", differences) == []
        assert faults("differences", {**differences, "fields": [{"before": 1}]}) == [["fields", 0]]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_fields_are_written_in_the_order_of_their_kind(path: Path) -> None:
    """A failure means that the same document comes out in two orders, by which way it was written."""
    data = read_document(str(path)).data
    order = PLAN_ORDER if "param_plan" in data else key_order(RULES_FILE) if "rules" in data else KEY_ORDER
    order = LINKS_KEY_ORDER if "within_node" in data else order
    assert key_order_of(data) == order


def test_plan_schema_requires_the_two_fields() -> None:
    """A failure means that an editor takes an empty file for a plan."""
    messages = [error.message for error in validator("plan").iter_errors({})]
    assert messages == ["'boundary_classes' is a required property", "'param_plan' is a required property"]


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `hpplan schema`."""
    return subprocess.run(
        [sys.executable, "-m", "hpplan", "schema", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_lists_the_kinds() -> None:
    """A failure means that nobody can find out which schemas there are."""
    done = run()
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [kind.name for kind in WITH_SCHEMA]


def test_command_prints_or_writes_a_schema(tmp_path: Path) -> None:
    """A failure means that what the command gives is not what the repository holds."""
    expected = (ROOT / "schemas" / "rules.schema.json").read_text(encoding="utf-8")
    assert run("rules").stdout == expected
    done = run("rules", "-o", "rules.schema.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "rules.schema.json").read_text(encoding="utf-8") == expected


def test_command_names_the_kinds_it_knows() -> None:
    """A failure means that a wrong name ends in a traceback or leaves the user without the right ones."""
    done = run("plans")
    assert done.returncode == 2
    assert done.stdout == ""
    assert all(kind.name in done.stderr for kind in WITH_SCHEMA)
