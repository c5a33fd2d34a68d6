"""A fault in a workload's fields hides nothing that is true whatever it is corrected to."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_workloads import JUNK, MESHES, random_workload
from test_partial_documents import changed, paths

from hpplan.checks.feature_exchange import check_workload
from hpplan.diagnostics import Place
from hpplan.routing.mesh import parse_mesh
from hpplan.workload.codes import CODES
from hpplan.workload.shape import check_workload_shape

if TYPE_CHECKING:
    from hpplan.diagnostics import Path

MESH = "cp=2,tp=2,sp"
WORKLOAD: dict[str, Any] = {
    "encoder_cp_size": 3,
    "sequence": {"length": 33, "documents": [30]},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 4},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 2, "output_rows": 4},
        {"item_id": 2, "batch_index": 0, "decoder_token_start": 32, "output_rows": 4},
        {"item_id": 3, "batch_index": 1, "decoder_token_start": 0, "output_rows": 1},
    ],
    "buckets": [[0, 1, 9], [1], []],
    "destinations": {"0": [7], "8": [0]},
}
ALL = {
    "encoder-cp-does-not-divide encoder_cp_size",
    "length-does-not-divide sequence.length",
    "documents-do-not-add-up sequence.documents",
    "overlapping-spans items.1",
    "span-outside-sequence items.2",
    "item-in-no-bucket items.2",
    "item-in-no-bucket items.3",
    "unknown-item buckets.0.2",
    "item-in-two-buckets buckets.1.0",
    "bucket-count-mismatch buckets",
    "destination-out-of-range destinations.0.0",
    "unknown-item destinations.8",
}
OF_BUCKETS = {"item-in-no-bucket items.2", "item-in-no-bucket items.3", "item-in-two-buckets buckets.1.0"}
ALL_OF_BUCKETS = {*OF_BUCKETS, "unknown-item buckets.0.2", "bucket-count-mismatch buckets"}
UNKNOWN = {"unknown-item buckets.0.2", "unknown-item destinations.8"}


def found(data: Any, mesh: str | None = MESH) -> set[str]:  # noqa: ANN401 - any document
    """Return name and path of each finding about a workload on a mesh."""
    findings = check_workload(data, Place("w"), None if mesh is None else parse_mesh(mesh))
    return {f"{item.code.name} {'.'.join(map(str, item.place.path))}" for item in findings}


def test_everything_at_once() -> None:
    """What is wrong on the mesh shows only when all that is wrong without one was corrected."""
    assert found(WORKLOAD) == ALL


@pytest.mark.parametrize(
    ("path", "value", "gone", "new"),
    [
        (("feature_width",), "8", set(), "mistyped-workload-field feature_width"),
        (
            ("encoder_cp_size",),
            0,
            {"encoder-cp-does-not-divide encoder_cp_size", "bucket-count-mismatch buckets"},
            "size-too-small encoder_cp_size",
        ),
        (
            ("sequence", "length"),
            "33",
            {
                "length-does-not-divide sequence.length",
                "documents-do-not-add-up sequence.documents",
                "span-outside-sequence items.2",
            },
            "mistyped-workload-field sequence.length",
        ),
        (
            ("sequence", "cp_layout"),
            "ring",
            {"length-does-not-divide sequence.length"},
            "unknown-cp-layout sequence.cp_layout",
        ),
        # The item's id is in order, so that the buckets may name it.
        (
            ("items", 0, "output_rows"),
            0,
            {"overlapping-spans items.1"},
            "rows-below-one items.0.output_rows",
        ),
        # Any id that no other item has may be this one's.
        (
            ("items", 0, "item_id"),
            "0",
            {"overlapping-spans items.1", *UNKNOWN, *OF_BUCKETS},
            "mistyped-workload-field items.0.item_id",
        ),
        (
            ("items",),
            {},
            {text for text in ALL if " items." in text} | UNKNOWN | {"item-in-two-buckets buckets.1.0"},
            "mistyped-workload-field items",
        ),
        # Buckets and destinations are looked at as a whole.
        (("buckets", 2), 0, ALL_OF_BUCKETS, "mistyped-workload-field buckets.2"),
        (("buckets", 0, 2), None, ALL_OF_BUCKETS, "mistyped-workload-field buckets.0.2"),
        (
            ("destinations", "0"),
            [0, -1],
            {"destination-out-of-range destinations.0.0", "unknown-item destinations.8"},
            "size-too-small destinations.0.1",
        ),
    ],
)
def test_a_fault_hides_nothing_else(path: Path, value: object, gone: set[str], new: str) -> None:
    """Whoever corrects one fault per run needs as many runs as there are faults."""
    assert found(changed(WORKLOAD, path, value)) == ALL - gone | {new}
    several = {"micro_batches": [{"sequence": {"length": 8}, "items": []}, changed(WORKLOAD, path, value)]}
    prefix = "micro_batches.1."
    assert found(several) == {text.replace(" ", f" {prefix}", 1) for text in ALL - gone | {new}}


def test_a_fault_in_a_replica_hides_nothing_of_another() -> None:
    """Each replica has items and buckets of its own."""
    batch = {name: WORKLOAD[name] for name in ("items", "buckets", "destinations")}
    data = {"sequence": {"length": 32}, "replicas": [batch, {**batch, "items": 3}, 4]}
    of_first = {f"{text}".replace(" ", " replicas.0.", 1) for text in ALL if " sequence" not in text}
    told = found(data, "dp=2,cp=2,tp=2")
    assert of_first - told == {"encoder-cp-does-not-divide replicas.0.encoder_cp_size"}
    assert {text for text in told - of_first if "replicas.1" not in text} == {
        "mistyped-workload-field replicas.2",
        "replica-count-mismatch replicas",
    }
    assert "destination-out-of-range replicas.1.destinations.0.0" in told
    assert not {text for text in told if text.startswith("unknown-item replicas.1")}


def pool() -> dict[str, Any]:
    """Return a workload of two replicas that share the encoder work."""
    items = [
        {
            "item_id": number,
            "batch_index": 0,
            "decoder_token_start": 2 * number,
            "output_rows": 2,
            "input_rows": 8,
        }
        for number in range(3)
    ]
    replicas = [
        {"items": items[:2], "buckets": [[0], [2]], "destinations": {"0": [0, 1]}},
        {"items": items[2:], "buckets": [[1], []]},
    ]
    return {"sequence": {"length": 8}, "encoder_pool": 2, "replicas": replicas}


def test_a_pool_is_checked_as_one() -> None:
    """Buckets of a replica may name items of others, whatever else is wrong with an item of a replica."""
    assert found(pool(), "dp=2,cp=2") == set()
    overlapping = changed(pool(), ("replicas", 0, "items", 1, "decoder_token_start"), 1)
    assert found(overlapping, "dp=2,cp=2") == {"overlapping-spans replicas.0.items.1"}
    unknown = changed(pool(), ("replicas", 1, "buckets", 0, 0), 7)
    assert found(unknown, "dp=2,cp=2") == {
        "unknown-item replicas.1.buckets.0.0",
        "item-in-no-bucket replicas.0.items.1",
    }
    of_one = {"sequence": {"length": 36}, "encoder_pool": "all", "items": [], "buckets": [[0], [], []]}
    assert found(of_one, "cp=3") == {"unknown-item buckets.0.0"}
    assert found({**of_one, "buckets": [[0], []]}, "dp=2") == {"unknown-item buckets.0.0"}
    mistyped = changed(unknown, ("encoder_pool",), "two")
    assert found(mistyped, "dp=2,cp=2") == {"mistyped-workload-field encoder_pool"}


ABOUT_FIELDS = {
    *(code.name for code in CODES if code.id in {*(f"HP41{number}" for number in range(1, 8)), "HP439"}),
    # Of an item that is listed twice, the first is the one that is said to be in no bucket.
    "item-in-no-bucket",
}


def told(data: object, mesh: str | None) -> set[str]:
    """Return the findings apart from those about single fields, which are read off what is written."""
    return {text for text in found(data, mesh) if text.partition(" ")[0] not in ABOUT_FIELDS}


@settings(suppress_health_check=list(HealthCheck), max_examples=150)
@given(st.randoms(use_true_random=True))
def test_nothing_is_said_that_a_correction_makes_untrue(random: Random) -> None:
    """Of the workload with the fault, no more is said than of the one in which somebody corrected it."""
    data, mesh = random_workload(random), random.choice(MESHES)
    before = told(data, mesh)
    for _ in range(6):
        path = random.choice([path for path in paths(data) if path != ("micro_batches",)])
        broken = changed(data, path, random.choice(JUNK))
        inside = 2 if path[0] == "micro_batches" else 0
        workload = broken["micro_batches"][0] if inside else broken
        faults = [item for item in check_workload_shape(workload, Place("w")) if item.level == "error"]
        # Where the fault lies deeper than the change, what else was changed is no fault.
        if [item.place.path for item in faults] == [path[inside:]]:
            assert told(broken, mesh) <= before, (data, path, broken, mesh)
