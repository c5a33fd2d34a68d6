"""What is wrong with a workload, alone or on a mesh: the code and the place of each fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hpplan.diagnostics import Diagnostic, Place
from hpplan.diagnostics import Path as KeyPath
from hpplan.documents.reader import read_document
from hpplan.errors import InvalidInput
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.traffic_warnings import check_traffic
from hpplan.workload.codes import CODES
from hpplan.workload.workload import load_workload

BROKEN = Path(__file__).parents[2] / "sample_plans" / "broken"
SAMPLES = sorted(BROKEN.glob("workload-*.yaml"))

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "workload_faults.yaml").read_text(encoding="utf-8")
)

MESH = "cp=2,tp=2,sp"
SEQUENCE = "sequence: {length: 32, cp_layout: zigzag}\n"
ITEMS = """\
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 5, output_rows: 10}
- {item_id: 1, batch_index: 0, decoder_token_start: 20, output_rows: 8}
"""


def find(data: Any, mesh: str) -> list[Diagnostic]:  # noqa: ANN401 - any document
    """Return every finding about a workload on a mesh, warnings as well."""
    try:
        table = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")))
    except InvalidInput as error:
        return list(error.diagnostics)
    return [*table.warnings, *check_traffic(Traffic(table))]


def found(text: str, mesh: str = MESH) -> list[tuple[str, KeyPath]]:
    """Return name and path of every error about a workload."""
    findings = find(yaml.safe_load(text), mesh)
    return [(one.code.name, one.place.path) for one in findings if one.code.name not in LOAD_WARNINGS]


LOAD_WARNINGS = {"idle-producer", "overloaded-receiver", "oversized-transfer"}


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_broken_sample_has_the_fault_it_is_named_after(path: Path) -> None:
    """A sample of a fault shows another one, or none."""
    document = read_document(str(path))
    mesh = document.source.header.partition("# Mesh: ")[2].strip()
    names = {one.code.name for one in find(document.data, mesh)}
    assert names == {path.stem.removeprefix("workload-")}


def test_every_code_has_a_sample() -> None:
    """Nobody can see what a code is about."""
    names = {path.stem.removeprefix("workload-") for path in SAMPLES}
    assert names == {code.name for code in CODES} - {"missing-feature-exchange"}


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_fault(case: dict[str, Any]) -> None:
    """A fault is not found, or found elsewhere, or something sound is refused."""
    assert found(case["workload"]) == [(name, tuple(path)) for name, path in case["expect"]]


def test_everything_is_reported_at_once() -> None:
    """People correct one fault after the other, a run for each."""
    text = SEQUENCE + ITEMS.replace("item_id: 1", "item_id: 0").replace("start: 20", "start: 12")
    assert found(text + "buckets: [[0], [3]]\ndestinations: {4: [0]}") == [
        ("duplicate-item", ("items", 1, "item_id")),
        ("overlapping-spans", ("items", 1)),
        ("unknown-item", ("buckets", 1, 0)),
        ("unknown-item", ("destinations", "4")),
    ]


def test_an_item_that_is_listed_twice_is_one_finding() -> None:
    """A copied line is said to overlap itself."""
    item = "- {item_id: 0, batch_index: 0, decoder_token_start: 1, output_rows: 2}\n"
    assert found(SEQUENCE + "items:\n" + item + item) == [("duplicate-item", ("items", 1, "item_id"))]


def test_next_length_and_bucket_numbers_are_named() -> None:
    """A message leaves people to work out the number that would do."""
    (length,) = find(yaml.safe_load("sequence: {length: 33, cp_layout: zigzag}\nitems: []"), "cp=2,tp=3,sp")
    assert "33 is no multiple of 12" in length.message
    assert length.hint is not None
    assert "36" in length.hint
    (buckets,) = find(yaml.safe_load(SEQUENCE + "items: []\nbuckets: [[], []]"), MESH)
    assert "2 buckets" in buckets.message
    assert "cp x tp = 4" in buckets.message


def test_unknown_fields_are_one_warning_for_all_items() -> None:
    """A trainer's own field in each of a million items floods the screen, or stops the run."""
    items = [
        {"item_id": n, "batch_index": n, "decoder_token_start": 0, "output_rows": 1, "colour": [1, 2, 2]}
        for n in range(3)
    ]
    workload = load_workload({"sequence": {"length": 8}, "items": items, "bukets": []}, Place("w"))
    assert [(one.code.name, one.place.path, one.hint) for one in workload.warnings] == [
        ("unknown-workload-field", ("items", 0, "colour"), None),
        ("unknown-workload-field", ("bukets",), "did you mean `buckets`?"),
    ]


def test_an_empty_bucket_is_no_warning() -> None:
    """A bucket of zero, which is normal, is reported."""
    assert find(yaml.safe_load(SEQUENCE + ITEMS + "buckets: [[0], [1], [], []]\n"), "cp=4") == []


def test_destinations_take_numbers_and_texts_as_keys() -> None:
    """Library callers and documents cannot name the same item."""
    data = yaml.safe_load(SEQUENCE + ITEMS)
    by_number = load_workload({**data, "destinations": {0: [0, 2]}}, Place("w"))
    by_text = load_workload({**data, "destinations": {"0": [0, 2]}}, Place("w"))
    assert by_number == by_text
    assert by_number.batches[0].destinations == {0: (0, 2)}
