"""A live step, left as a routing table that the commands show."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks

import hpplan
from hpplan.exchange import ExchangeGroup, FeatureExchange, UnusableRequest

if TYPE_CHECKING:
    from pathlib import Path

SEQUENCE = {"length": 16}


def _item(number: int, start: int, rows: int) -> dict[str, int]:
    return {
        "item_id": number,
        "batch_index": 0,
        "decoder_token_start": start,
        "output_rows": rows,
        "input_rows": 4 * rows,
    }


OF_REPLICAS = [[_item(0, 1, 8), _item(1, 10, 2)], [], [_item(0, 0, 4)], [_item(0, 3, 5), _item(1, 9, 1)]]


def _write(rank: int, pool: int, folder: Path) -> tuple[str, bool, bool]:
    group = ExchangeGroup.from_mesh("dp=4", pool=pool)
    exchange = FeatureExchange.plan(OF_REPLICAS[rank], None, SEQUENCE, group)
    path = folder / f"{rank}.json"
    first, again = exchange.write(path), exchange.write(str(path))
    read = hpplan.load_routes(path)
    same = read.rank_exchange(rank)
    assert same is not None
    assert same.route == exchange.route
    assert same.digest == exchange.digest
    # All ranks write this one at once: each puts a whole file in the place of another's.
    FeatureExchange.from_routes(read, group).write(folder / f"of-pool-{rank // pool}.json")
    dist.barrier()
    assert (folder / f"of-pool-{rank // pool}.json").read_text() == path.read_text()
    return path.read_text(), first, again


@pytest.mark.parametrize("pool", [2, 4])
def test_a_step_is_written_as_the_table_it_runs(tmp_path: Path, pool: int) -> None:
    """What is looked at afterwards would be another step than the one that hung.

    In a pool of 2, ranks 0 and 1 share items of 8 and 2 rows, one each; ranks 2 and 3 those of 4, 5 and 1,
    of which the heaviest goes to one and the others to the other.
    """
    written = run_ranks(4, _write, pool, tmp_path)
    assert all(first and not again for _, first, again in written)
    tables = [json.loads(text) for text, _, _ in written]
    if pool == 4:
        assert tables[0] == tables[1] == tables[2] == tables[3]
        buckets = [sorted(bucket) for bucket in tables[0]["parents"][0]["buckets"]]
        # Through all replicas: 8 and 2 rows of replica 0, 4 of replica 2, 5 and 1 of replica 3.
        assert sorted(buckets) == [[0], [1, 4], [2], [3]]
        return
    left, right = (tables[rank]["parents"] for rank in (0, 2))
    assert [sorted(map(len, parent["buckets"])) for parent in left] == [[1, 1], [0, 0]]
    assert [sorted(map(len, parent["buckets"])) for parent in right] == [[0, 0], [1, 2]]
    assert tables[0] == tables[1]
    assert tables[2] == tables[3]


def test_the_command_shows_a_written_step(tmp_path: Path) -> None:
    """The file would be of no use on a login node."""
    run_ranks(4, _write, 4, tmp_path)
    command = [sys.executable, "-m", "hpplan", "route", str(tmp_path / "3.json"), "--rank", "all"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "dp=4" in shown.stdout


def _run_and_write(rank: int, path: Path) -> None:
    group = ExchangeGroup.from_mesh("dp=2", pool=2)
    exchange = FeatureExchange.plan(OF_REPLICAS[rank], None, SEQUENCE, group)
    (pixels,) = exchange.bring(torch.rand(40 * (1 - rank), 6, dtype=torch.float64))
    rows = len(pixels) // 4
    exchange([torch.rand(rows, 8), torch.rand(rows, 24)])
    if rank == 0:
        exchange.write(path)


def test_a_step_has_the_bytes_that_travelled(tmp_path: Path) -> None:
    """A preview of it would be off by the width.

    8 + 24 float32 are 128 bytes a row, and 6 float64 are 48.
    """
    run_ranks(2, _run_and_write, tmp_path / "step.json")
    table = hpplan.load_routes(tmp_path / "step.json")
    assert table.workload.row_bytes == 128
    assert table.workload.input_row_bytes == 48


def _to_nowhere(_rank: int, folder: Path) -> str:
    group = ExchangeGroup.from_mesh("dp=1")
    exchange = FeatureExchange.plan(OF_REPLICAS[0], None, SEQUENCE, group)
    (folder / "file").write_text("")
    with pytest.raises(UnusableRequest) as refused:
        exchange.write(folder / "file" / "step.json")
    return str(refused.value)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A traceback of the system's would end the job in its place."""
    (said,) = run_ranks(1, _to_nowhere, tmp_path)
    assert said.startswith("Cannot write ")


def test_a_bare_route_is_not_written() -> None:
    """Half a table would be shown as the whole."""
    exchange = FeatureExchange.__new__(FeatureExchange)
    exchange._table = None
    with pytest.raises(UnusableRequest, match="make it with `plan` or `from_routes`"):
        exchange.write("step.json")
