"""The short form of the fuzz: `python tests/fuzz/fuzz.py` is the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fuzz import in_shells, under_hash_seeds
from fuzz_case import case
from fuzz_examine import Fault, examine

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz_case import Case

SEED = 9


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_documents_that_nobody_would_write(tmp_path: Path, part: int) -> None:
    """A document ends in a traceback, takes too long, or does not read back."""
    numbers = range(part, 240, 2)
    faults = [(number, fault) for number in numbers for fault in examine(case(SEED, number), tmp_path)]
    assert faults == []


@pytest.mark.slow
def test_in_processes_of_their_own() -> None:
    """Something ends otherwise in a shell, or by another order of hashes."""
    faults: dict[str, tuple[int, Fault, Case]] = {}
    in_shells(SEED, 600, 2, faults)
    under_hash_seeds(SEED, 10, faults, ("1", "2"))
    assert faults == {}


def test_the_fuzz_sees_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fuzz that cannot fail finds nothing, whatever there is to be found."""
    plan = b'{"boundary_classes": {}, "param_plan": {"a": {"in_sr\xc2\x9b": 1}}}'
    one = case(SEED, 0)._replace(files={"d": plan}, runs=[["validate", "d"]])
    assert examine(one, tmp_path) == []
    monkeypatch.setattr("hpplan.reports.findings.full.visible", str)
    monkeypatch.setattr("hpplan.reports.findings.full.locate", lambda *_: 1 / 0)
    kinds = [fault.kind for fault in examine(one, tmp_path)]
    assert [kind.partition(":")[0] for kind in kinds] == ["status 70"]
    monkeypatch.undo()
    monkeypatch.setattr("hpplan.reports.findings.full.visible", str)
    kinds = [fault.kind for fault in examine(one, tmp_path)]
    assert kinds == ["control characters: validate, standard output"]
    monkeypatch.setattr("fuzz_examine.dump_yaml", lambda _: "a: 1")
    assert "read back" in examine(one, tmp_path)[0].kind
    monkeypatch.setattr("hpplan.documents.source.Source.position", lambda *_: (1, 10_000))
    assert "a position outside the file" in {fault.kind for fault in examine(one, tmp_path)}
