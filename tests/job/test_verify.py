"""Verification must be able to fail: what is broken on the way is found, and named."""

from __future__ import annotations

import pytest
from gradient_faults import Case, try_some
from ranks import run_ranks
from verify_runs import WORKLOAD, verify_dtypes, verify_faults, verify_with

Named = tuple[str, int, int, int]


def _verify(fault: str) -> tuple[list[Named], list[str], int]:
    """Return (code, rank, item, row) of what both ranks found, the messages, and the total."""
    results = run_ranks(2, verify_with, fault, WORKLOAD, "cp=2")
    found = [mismatch for mismatches, _, _ in results for mismatch in mismatches]
    return [one[:4] for one in found], [one[4] for one in found], sum(total for _, total, _ in results)


def test_nothing_broken_nothing_found() -> None:
    """A verification that finds fault with a good exchange is worth nothing either."""
    results = run_ranks(2, verify_with, "", WORKLOAD, "cp=2")
    # 11 rows of 2 payloads: rank 0 gets gradients back, rank 1 receives rows.
    assert results == [([], 0, 22), ([], 0, 22)]


def test_corrupt_row_is_named() -> None:
    """One element of one row changed on the wire: item 3's row 1."""
    named, messages, total = _verify("corrupt a row")
    assert named == [("HP511", 1, 3, 1), ("HP513", 1, 3, 1)]
    assert messages[0] == "rank 1 received item 3 row 1 of payload 0 wrong: it holds no row that was sent"
    assert total == 2


def test_corrupt_row_of_an_all_gather_is_named() -> None:
    """What one rank gives to all goes another way than rows for each, and must be looked at as well."""
    results = run_ranks(2, verify_with, "corrupt a row", WORKLOAD, "tp=2")
    named = [[one[:4] for one in mismatches] for mismatches, _, _ in results]
    assert named == [[("HP511", rank, 3, 1), ("HP513", rank, 3, 1)] for rank in (0, 1)]


def test_swapped_records_are_named() -> None:
    """Two images of equal size swapped: every shape is right, and every row is another image's."""
    named, messages, total = _verify("swap two records")
    rows = [("HP511", 1, item, row) for item in (7, 3) for row in range(4)]
    assert [one for one in named if one[0] == "HP511"] == [*rows, *rows]
    assert messages[0] == (
        "rank 1 received item 7 row 0 of payload 0 wrong: it holds item 3 row 0 of payload 0"
    )
    assert total == 32


def test_dropped_gradient_is_named() -> None:
    """One row's gradient lost on the way back: item 7's row 3."""
    named, messages, total = _verify("drop a gradient")
    assert named == [("HP514", 0, 7, 3), ("HP514", 0, 7, 3)]
    assert "got the gradient of item 7 row 3 of payload 0 wrong" in messages[0]
    assert messages[0].endswith("it got nothing")
    assert total == 2


@pytest.mark.slow
def test_fault_of_one_receiver_among_four_is_named() -> None:
    """A sum of four that is rounded to bfloat16 must not swallow what one of them has wrong."""
    faults = ["swap two gradients", "one gradient's element off", "drop a gradient"]
    found = run_ranks(4, verify_faults, faults, ["bfloat16", "float32"])
    assert found[0] == [(7, 3)] * 6
    assert found[1:] == [[None] * 6] * 3


@pytest.mark.slow
def test_no_fault_of_any_receiver_is_rounded_away() -> None:
    """Swapped, shifted, dropped, doubled rows, and the last bit of each element, with up to 64 receivers."""
    cases = [
        (Case(f"tp={world}", dtype, width, "sum" if world == 3 else "mean"), 1)
        for world, width in ((2, 1), (3, 2), (4, 5), (6, 3))
        for dtype in ("bfloat16", "float16", "float32", "float64")
    ]
    cases += [(Case("cp=2,tp=4", "bfloat16", 2), 2), (Case("tp=4,sp", "bfloat16", 2, "mean", "row"), 4)]
    cases += [(Case("tp=64", "bfloat16", 2), 1)]
    (found,) = run_ranks(1, try_some, cases)
    assert [(missed, refused) for _, missed, refused in found] == [([], 0)] * len(cases)
    assert sum(tried for tried, _, _ in found) > 3_000


def test_shortened_split_is_named() -> None:
    """Gloo does not notice that less is sent than expected; the last row of item 9 never arrives."""
    named, _, _ = _verify("shorten a split")
    assert named == [("HP511", 1, 9, 2), ("HP513", 1, 9, 2)] * 2


def test_wrong_position_is_named() -> None:
    """Rows that arrived well and were merged one token too far."""
    named, messages, _ = _verify("merge at the wrong token")
    assert ("HP513", 1, 7, 0) in named
    assert {one[0] for one in named} == {"HP513", "HP514"}
    assert messages[-1].startswith("rank 1 has local token") or messages[0].startswith(
        "rank 0 got the gradient"
    )


def test_wrong_order_is_named() -> None:
    """Records handed over in another order than that of their tokens."""
    named, messages, total = _verify("hand over in another order")
    assert named == [("HP512", 1, 7, 0), ("HP512", 1, 3, 0)]
    assert messages[0] == "rank 1 was handed item 3 row 0 where item 7 row 0 is due"
    assert total == 2


@pytest.mark.slow
def test_verification_is_exact_in_every_dtype() -> None:
    """A fingerprint that a dtype rounds would be found wrong on a good exchange."""
    found = run_ranks(3, verify_dtypes, ["float16", "float32", "float64", "bfloat16"])
    assert found == [[0] * 12] * 3
