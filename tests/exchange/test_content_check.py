"""A real step that checks what arrives, and says which row of which item is wrong, and what it holds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from naive_model import Setting
from rank_runs import make_exchange, make_features
from ranks import run_ranks

from hpplan.exchange import ExchangeGroup, FeatureExchange, PeersFailed, UnusableRequest
from hpplan.exchange.content_check import fingerprints

SEQUENCE = {"length": 16, "cp_layout": "zigzag"}

ITEMS = [
    {"item_id": 7, "batch_index": 0, "decoder_token_start": 1, "output_rows": 6},
    {"item_id": 3, "batch_index": 0, "decoder_token_start": 9, "output_rows": 5},
]

SETTING = Setting(
    {"sequence": {"length": 16}, "items": ITEMS, "buckets": [[3], [7], [], []]}, cp=2, tp=2, sp=True
)


def _checked(_rank: int) -> bool:
    exchange = make_exchange(SETTING)
    features = make_features(exchange, "bfloat16", 3).requires_grad_()
    second = make_features(exchange, "bfloat16", 2, 1)
    received, plain = exchange.check([features, second]), exchange([features, second])
    received.tie(torch.zeros((), requires_grad=True)).backward()
    plain.tie(torch.zeros((), requires_grad=True)).backward()
    return all(torch.equal(one, other) for one, other in zip(received.payloads, plain.payloads, strict=True))


def test_a_checked_call_hands_over_what_a_call_does() -> None:
    """Its place in the loop is that of a call, backward included."""
    assert run_ranks(4, _checked) == [True] * 4


def _sharded(_rank: int) -> int:
    group = ExchangeGroup.from_mesh("cp=4")
    options = {"encoder_cp_size": 2, "encoder_output": "sharded", "buckets": [[3], [7]]}
    exchange = FeatureExchange.plan(ITEMS, None, {"length": 16}, group, **options)
    rows = sum(count for _, count in exchange.bucket)
    return len(exchange.check(torch.rand(rows, 3)).rows)


def test_rows_of_one_item_come_from_several_ranks() -> None:
    """Where encoder ranks share an item's rows, each says the fingerprints of its own.

    Item 7 lies in tokens 1 to 6, of ranks 0 and 1, and item 3 in 9 to 13, of ranks 2 and 3.
    """
    assert run_ranks(4, _sharded) == [6, 6, 5, 5]


def _corrupted(rank: int) -> list[str]:
    said = []
    for manner in ("bit", "swap", "second"):
        exchange = make_exchange(SETTING, "row")
        payloads = [make_features(exchange, "float32", 3, number) for number in range(2)]
        run = exchange._engine.forward

        def forward(*given: object, manner: str = manner, run=run) -> Any:  # noqa: ANN001, ANN401
            first, second = yield from run(*given)
            if rank == 1:
                assert len(first) > 1
                if manner == "bit":
                    first.view(torch.int32)[1, 2] ^= 1
                elif manner == "swap":
                    first[:2] = first[:2].flip(0)
                else:
                    second[0] = 99
            return first, second

        exchange._engine.forward = forward
        try:
            with torch.no_grad():
                # What yields payloads once is compared as well.
                exchange.check(payloads if manner == "bit" else iter(payloads))  # type: ignore[arg-type]
        except PeersFailed as error:
            said.append(str(error))
    return said


def test_a_wrong_row_ends_all_ranks_with_its_name() -> None:
    """A bit that flipped, rows in each other's places and a wrong second payload are found where they are.

    Rank 1 holds tokens 4 to 7: item 7 has those rows from 3 on, tokens 1 to 6 being its rows 0 to 5.
    """
    heard = run_ranks(4, _corrupted)
    assert all(said == heard[0] for said in heard)
    bit, swap, second = heard[0]
    assert "rank 1: received item 7 row 4 of payload 0 wrong: it holds what no rank sent" in bit
    assert (
        "rank 1: received item 7 row 3 of payload 0 wrong: it holds item 7 row 4 (2 rows are wrong)" in swap
    )
    assert "rank 1: received item 7 row 3 of payload 1 wrong: it holds what no rank sent" in second


def _one_alone(rank: int) -> str:
    exchange = make_exchange(SETTING)
    features = make_features(exchange, "float32", 3)
    with pytest.raises(PeersFailed) as failed:
        exchange.check(features) if rank == 2 else exchange(features)
    return str(failed.value)


def test_one_rank_alone_cannot_check() -> None:
    """It would wait for what nobody says; all hear who it is."""
    for said in run_ranks(4, _one_alone):
        assert "rank 2 checks what arrives, and rank 0 does not" in said


def _by_environment(_rank: int, steps: str) -> list[int] | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPPLAN_CHECK_STEPS", steps)
        try:
            group = ExchangeGroup.from_mesh("cp=2")
        except UnusableRequest as error:
            return str(error)
    left = []
    for _ in range(3):
        exchange = FeatureExchange.plan(ITEMS, None, SEQUENCE, group)
        exchange(torch.rand(sum(rows for _, rows in exchange.bucket), 2))
        left.append(group.checks)
    return left


def test_the_environment_checks_the_first_calls() -> None:
    """The loop of a job that goes wrong on the cluster need not be touched."""
    assert run_ranks(2, _by_environment, "2") == [[1, 0, 0]] * 2


def test_the_environment_holds_no_number() -> None:
    """A wish that is not understood must not pass for none."""
    for said in run_ranks(2, _by_environment, "yes"):
        assert said == "HPPLAN_CHECK_STEPS is a number of calls, not 'yes'"


def test_each_byte_of_a_row_counts() -> None:
    """A fingerprint that skips a column passes rows that differ there."""
    rows = torch.zeros(13, 3, dtype=torch.float32)
    rows.view(torch.uint8).fill_diagonal_(1)
    assert len(set(fingerprints(rows).tolist())) == 13
    assert fingerprints(rows[:0]).tolist() == []
    assert fingerprints(torch.zeros(2, 0)).tolist() == [0, 0]
