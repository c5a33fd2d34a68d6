"""No command writes over a file that it reads, unless that is what it was asked for."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("deepseek_v3.rules.yaml", ["normalize", "{samples}/deepseek_v3.yaml", "--rules", "{file}"]),
        ("deepseek_v3.yaml", ["validate", "{file}"]),
        ("workloads/qwen3_vl_30b_a3b.mixed.yaml", ["route", "{file}", "--mesh", "cp=2,sp"]),
        ("batches/qwen3_vl.jsonl", ["workload", "{file}", "--model", "qwen3_vl"]),
    ],
)
def test_inputs_survive(hpplan: Runner, root: Path, tmp_path: Path, name: str, arguments: list[str]) -> None:
    """A slip of the hand replaces a plan, its rules, a workload or a batch by a report."""
    file = tmp_path / "input"
    shutil.copy(root / "sample_plans" / name, file)
    before = file.read_bytes()
    filled = [part.format(samples=root / "sample_plans", file=file) for part in arguments]
    link = tmp_path / "link"
    link.symlink_to(file)
    for target in (file, link):
        result = hpplan(*filled, "-o", str(target))
        assert (result.status, result.stdout) == (2, "")
        assert "would overwrite" in result.stderr
    assert file.read_bytes() == before
