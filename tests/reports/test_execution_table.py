"""The table of `hpplan exec`, as people read it."""

from __future__ import annotations

from typing import Any

from hpplan.reports.execution import table as exec_table
from hpplan.reports.terminal.screen import Screen


def _rank(rank: int, host: str, wrong: int = 0) -> dict[str, Any]:
    return {
        "rank": rank,
        "host": host,
        "rows_sent": 24576,
        "rows_received": 8192,
        "rows_kept": 8192,
        "bytes_sent": 100663296,
        "bytes_received": 33554432,
        "forward_ms": 116.4321,
        "backward_ms": 98.7654,
        "algbw": 1.1528,
        "busbw": 0.0049,
        "mismatch_count": wrong,
    }


def _report(*ranks: dict[str, Any]) -> dict[str, Any]:
    wrong = sum(rank["mismatch_count"] for rank in ranks)
    total = {
        "rows": 49152,
        "rows_leaving": 24576,
        "bytes": 201326592,
        "bytes_leaving": 100663296,
        "forward_ms": 116.4321,
        "backward_ms": None,
        "plain_forward_ms": 110.0,
        "plain_backward_ms": None,
        "algbw": 1.7291,
        "busbw": 0.8646,
        "rows_verified": 98304,
    }
    return {
        "mode": "parent_variable_a2a",
        "mesh": "cp=2",
        "world_size": len(ranks),
        "backend": "gloo",
        "device": "cpu",
        "dtype": "bfloat16",
        "feature_width": 2048,
        "payloads": 1,
        "granularity": "record",
        "verified": not wrong,
        "mismatch_count": wrong,
        "forward_ratio": 1.0585,
        "backward_ratio": None,
        "forward_seconds": 0.1164321,
        "predicted_forward_seconds": None,
        "backward_seconds": None,
        "predicted_backward_seconds": None,
        "total": total,
        "ranks": list(ranks),
    }


def test_table_in_a_pipe() -> None:
    """Columns out of line, numbers cut or a verdict that is not there would show here."""
    text = exec_table.render(_report(_rank(0, "a"), _rank(1, "a")), Screen())
    assert (
        text
        == """\
parent_variable_a2a on cp=2, gloo on cpu
rank    sent  received    kept  bytes out  fwd ms  bwd ms  algbw  busbw  ok
   0  24,576     8,192   8,192   100.7 MB     116    98.8   1.15  <0.01  yes
   1  24,576     8,192   8,192   100.7 MB     116    98.8   1.15  <0.01  yes
 all  24,576    24,576  24,576   100.7 MB     116       -   1.73   0.86  yes

features         bfloat16, width 2048, by record
bandwidth        GB/s forward: algbw of all rows, busbw of those that are not kept
forward / plain  1.06 (116 ms, the collective alone 110 ms)
verified         yes: 98,304 rows and gradients over all payloads, as the table says
"""
    )


def test_hosts_and_what_is_wrong_are_shown() -> None:
    """With several hosts, who is where matters; a failed verification must be plain to see."""
    text = exec_table.render(_report(_rank(0, "left"), _rank(1, "right", wrong=7)), Screen())
    lines = text.splitlines()
    assert lines[1].endswith("ok           host")
    assert lines[2].endswith("yes          left")
    assert lines[3].endswith("NO: 7 wrong  right")
    assert lines[4].endswith("NO: 7 wrong")
    assert lines[-1] == "verified         NO: 7 of 98,304 are wrong"


def test_terminal_of_80_columns_folds_no_cell() -> None:
    """A number broken over two lines is read as two numbers."""
    text = exec_table.render(_report(_rank(0, "a"), _rank(1, "a")), Screen(width=80))
    assert sum("100.7 MB" in line for line in text.splitlines()) == 3
    assert all(len(line) <= 80 for line in text.splitlines())


def test_ranks_that_exchange_nothing_are_counted() -> None:
    """A table of fewer ranks than were started would look as if some had been forgotten."""
    report = {**_report(_rank(0, "a"), _rank(1, "a")), "mesh": "cp=2,pp=3", "world_size": 6}
    text = exec_table.render(report, Screen(color=False))
    assert "idle             4 ranks of later pipeline stages, which exchange nothing\n" in text


def test_predicted_times_stand_beside_measured_ones() -> None:
    """A prediction that is off, or of what was not measured, passes for a measurement."""
    report = {**_report(_rank(0, "a")), "predicted_forward_seconds": 0.128, "predicted_backward_seconds": 0.1}
    text = exec_table.render(report, Screen())
    assert "predicted forward   128 ms, 1.10 of the measured 116 ms\n" in text
    assert "predicted backward  100 ms, not measured\n" in text
