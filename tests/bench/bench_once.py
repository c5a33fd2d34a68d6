"""Each row once against owned rows, where two nodes of two ranks share a link (DESIGN section 8)."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Measurement

sys.path.append(str(Path(__file__).parents[1] / "helpers"))
from emulated import missing, two_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 4096
"""Of each of four images, which the ranks encode one each; half of their tokens are of the other node."""

_PAIRS = 7
"""Four ranks and a link on a few cores: one pair alone is up to a third off."""

WORKLOAD: dict[str, Any] = {
    "feature_width": 1024,
    "sequence": {"length": 4 * _ROWS, "cp_layout": "zigzag"},
    "items": [
        {"item_id": at, "batch_index": 0, "decoder_token_start": at * _ROWS, "output_rows": _ROWS}
        for at in range(4)
    ],
}


def measure() -> Iterator[Measurement]:
    """Yield the time of `once` against `row`, forward and backward."""
    lacking = missing()
    if lacking:
        sys.stderr.write(f"`once` is not measured: the rig needs {lacking}\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        pairs = [[_total(Path(folder), kind) for kind in ("once", "row")] for _ in range(_PAIRS)]
    for way in ("forward_ms", "backward_ms"):
        ratio = median(once[way] / row[way] for once, row in pairs)
        what = f"once: {way.partition('_')[0]} against row, two nodes of two ranks at 1 Gbit/s"
        yield Measurement(what, 0.65, ratio)


def _total(folder: Path, granularity: str) -> dict[str, Any]:
    workload, report = folder / "workload.json", folder / f"{granularity}.json"
    workload.write_text(json.dumps(WORKLOAD), encoding="utf-8")
    options = ["--mesh", "cp=2,tp=2", "--granularity", granularity, "--iters", "7", "--warmup", "2"]
    worker = ["-m", "hpplan", "exec", str(workload), *options, "--report", str(report)]
    two_nodes("1gbit", *worker)
    total: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))["total"]
    return total
