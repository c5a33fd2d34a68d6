"""Two nodes whose ranks share a link, emulated: `exec` finds the link, and predicts what crosses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from emulated import missing, two_nodes

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = {
    "feature_width": 1024,
    "dtype": "bfloat16",
    "sequence": {"length": 8192, "cp_layout": "zigzag"},
    "items": [
        {"item_id": at, "batch_index": at % 2, "decoder_token_start": 1000 * at, "output_rows": 900}
        for at in range(8)
    ],
}


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=f"the rig of two nodes needs {missing()}")
def test_a_link_that_ranks_of_a_node_share(tmp_path: Path) -> None:
    """Each rank is taken to have a link of its own, so that times are predicted at half of what they are."""
    workload, links, report = (tmp_path / name for name in ("workload.yaml", "links.yaml", "report.json"))
    workload.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    two_nodes("1gbit", "-m", "hpplan", "exec", "--calibrate", "-o", str(links))
    found = yaml.safe_load(links.read_text(encoding="utf-8"))
    assert (found["ranks_per_node"], found["between_nodes"]["shared_by"]) == (2, 2)
    # 1 Gbit/s is 0.125 x 10^9 bytes/s.
    assert 0.08 < found["between_nodes"]["bandwidth"] < 0.14
    options = ("--mesh", "cp=2,tp=2", "--granularity", "row", "--iters", "5")
    files = ("--links", str(links), "--report", str(report))
    two_nodes("1gbit", "-m", "hpplan", "exec", str(workload), *options, *files)
    told = json.loads(report.read_text(encoding="utf-8"))
    assert told["verified"] is True
    for way in ("forward", "backward"):
        # Wide, as tests share the machine; the benchmark of links is strict, and has it for itself.
        assert 0.5 < told[f"predicted_{way}_seconds"] / told[f"{way}_seconds"] < 2
