"""A file of another kind than the command takes: what it is, and what takes it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Runner

WORKLOAD = {
    "feature_width": 8,
    "sequence": {"length": 8},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2}],
}
PLAN = {"param_plan": {}, "boundary_classes": {}, "parallel_dims": {"cp_size": 2}}
MESH = ("--mesh", "cp=2")

FILES = {
    "plan.json": "is a plan",
    "rules.json": "holds rules",
    "strategies.json": "holds strategies",
    "batch.json": "is a workload",
    "routes.json": "is a routing table",
    "rank.json": "is an answer of `hpplan route --rank`",
    "ranks.json": "is an answer of `hpplan route --rank`",
    "comparison.json": "is an answer of `hpplan route --compare`",
    "statistics.json": "is an answer of `hpplan route` to many micro-batches",
    "report.json": "is an answer of `hpplan exec --report`",
}
ROUTABLE = ("plan.json", "batch.json", "routes.json")
COMMANDS = {
    ("validate",): (*ROUTABLE, "rules.json", "strategies.json"),
    ("normalize",): ("plan.json",),
    ("normalize", "plan.json", "--check", "-o"): ("plan.json",),
    ("explain",): ("plan.json",),
    ("compile", "-o", "out", *MESH): ("plan.json",),
    ("route",): ROUTABLE,
    ("exec", "--launch", "2"): ROUTABLE,
}
WRONG = [(command, file) for (command, taken), file in product(COMMANDS.items(), FILES) if file not in taken]


@pytest.fixture(autouse=True)
def _files(hpplan: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a document of every kind; answers are those that hpplan gives."""
    monkeypatch.chdir(tmp_path)
    for name, data in (
        ("plan.json", PLAN),
        ("rules.json", {"rules": []}),
        ("strategies.json", {"strategies": []}),
        ("batch.json", WORKLOAD),
        ("many.json", {"micro_batches": [WORKLOAD, WORKLOAD]}),
        ("report.json", {"hpplan_exec": 1, "verified": True, "feature_width": 8, "ranks": []}),
    ):
        Path(name).write_text(json.dumps(data), encoding="utf-8")
    for name, *arguments in (
        ("routes.json", "batch.json"),
        ("rank.json", "batch.json", "--rank", "0"),
        ("ranks.json", "batch.json", "--rank", "all"),
        ("comparison.json", "batch.json", "--compare"),
        ("statistics.json", "many.json"),
    ):
        assert hpplan("route", *arguments, *MESH, "-o", name).status == 0


@pytest.mark.parametrize(("command", "file"), WRONG, ids=[" ".join([*one[0], one[1]]) for one in WRONG])
def test_a_document_of_another_kind(hpplan: Runner, command: tuple[str, ...], file: str) -> None:
    """Advice for the kind that a file is not, or a list of fields that it was never to have."""
    result = hpplan(*command, file)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {file} {FILES[file]}, and `hpplan {command[0]}` takes ")
    assert not Path("out").exists()


def test_a_workload_that_is_none(hpplan: Runner) -> None:
    """Another document for --workload is a list of missing fields."""
    for file in FILES.keys() - {"batch.json"}:
        result = hpplan("route", "plan.json", "--workload", file)
        assert (result.status, result.stdout) == (2, "")
        assert result.stderr.startswith(f"Error: {file} {FILES[file]}, and `--workload` takes a workload.")


def test_what_cannot_be_compared(hpplan: Runner) -> None:
    """Which of two files is the wrong one has to be found out by reading both."""
    for one, other in (("plan.json", "batch.json"), ("routes.json", "plan.json"), ("rank.json", "rank.json")):
        told = (
            f"Error: {one} {FILES[one]}, and {other} {FILES[other]}; "
            "`hpplan diff` compares two plans or two routing tables.\n"
        )
        assert hpplan("diff", one, other) == (2, "", told)
