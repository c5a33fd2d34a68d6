"""What a document is, and what is said where another kind is wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpplan.documents.disk.folder import files_in
from hpplan.documents.reader import parse_document
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.validation.kinds import KINDS, kind_of_document, may_be_own, own_kind, take, what_it_is

DOCUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"param_plan": {}, "boundary_classes": {}, "feature_exchange": {}}, "plan"),
    ({"boundary_classes": {}}, "plan"),
    ({"rules": []}, "rules"),
    ({"plan_overrides": [], "optimizer": {}}, "rules"),
    ({"rules": [], "strategies": []}, "rules"),
    ({"strategies": []}, "strategies"),
    ({"sequence": {}, "items": []}, "workload"),
    ({"micro_batches": [{}]}, "workload"),
    ({"hpplan_routes": 1, "workload": {}}, "routes"),
    ({"ranks_per_node": 8, "within_node": {}, "copy": 20}, "links"),
    ({"hpplan_exec": 1, "feature_width": 8, "ranks": []}, "execution"),
    ({"ways": [], "take": "record", "reason": ""}, "comparison"),
    ({"micro_batches": 2, "policies": {}, "cost": "rows"}, "statistics"),
    ({"micro_batches": 2, "meshes": [], "policy": "lpt", "cost": "rows"}, "meshes"),
    ({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}, "model-config"),
    ({"model_type": "llama", "transformers_version": "5.24.0"}, "model-config"),
    ({"rank": 0, "exchanges": False, "reason": ""}, "rank"),
    ({"ranks": [{}]}, "rank"),
    ({"hpplan_proof": 1, "plan": "plan.yaml"}, "proof"),
    ({"before": "a.yaml", "after": "b.yaml", "equal": True}, "differences"),
]


@pytest.mark.parametrize(("data", "kind"), DOCUMENTS)
def test_kinds_are_told_apart_by_content(data: dict[str, Any], kind: str) -> None:
    """A document that is taken for another kind gets findings about fields it never had."""
    assert kind_of_document(data) == kind


def test_every_kind_is_told_apart() -> None:
    """A kind that no document has is never found."""
    assert {kind for _, kind in DOCUMENTS} == {kind.counts_as or kind.name for kind in KINDS if kind.marks}


def test_documents_that_nobody_named(root: Path) -> None:
    """A document in a folder is left out as a file of somebody else."""
    kinds = set()
    for path in files_in(str(root / "sample_plans")):
        raw = Path(path).read_bytes()
        try:
            data = parse_document(raw, path).data
        except InvalidInput:
            continue
        # Without a single rule nothing in a file is a rule.
        if kind_of_document(data, "") and data != {"rules": []}:
            assert may_be_own(raw), path
            assert own_kind(data) == kind_of_document(data), path
            kinds.add(own_kind(data))
    assert kinds >= {"plan", "rules", "workload", "routes"}


def test_a_document_that_does_not_say_what_it_is() -> None:
    """It is what the command takes first, so that the missing fields of that are named."""
    document = parse_document(b"{}", "d.yaml")
    assert (kind_of_document({}), take(document, "c", "workload", "plan")) == ("plan", "workload")


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (
            {"items": []},
            "w.yaml",
            (
                "w.yaml is a workload, and `hpplan compile` takes a plan or a routing table. "
                "Type `hpplan compile PLAN --workload w.yaml -o DIR`."
            ),
        ),
        (
            {"rules": []},
            "<stdin>",
            (
                "<stdin> holds rules, and `hpplan compile` takes a plan or a routing table. "
                "Type `hpplan compile PLAN --rules - -o DIR`."
            ),
        ),
        (
            {"ranks": []},
            "r.json",
            (
                "r.json is an answer of `hpplan route --rank`, "
                "and `hpplan compile` takes a plan or a routing table."
            ),
        ),
    ],
)
def test_another_kind_is_wanted(data: dict[str, Any], name: str, said: str) -> None:
    """Whoever named the wrong file learns what it is, and what takes it."""
    document = parse_document(json.dumps(data).encode(), name)
    with pytest.raises(UnusableRequest) as caught:
        take(document, "hpplan compile", "plan", "routes")
    assert str(caught.value) == said
    assert said.startswith(what_it_is(document) + ", and")
