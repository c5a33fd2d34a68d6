"""Failure manners of the library: one rank's fault ends all, with one message that names it."""

from __future__ import annotations

import fault_runs
import pytest
from ranks import Ended, end_ranks, run_ranks


def _same_message(ended: list[Ended], *parts: str) -> None:
    """Check that all ranks raised PeersFailed with the same words, and which those are."""
    messages = {one.error.splitlines()[0] if one.error else f"ended with {one.value}" for one in ended}
    assert len(messages) == 1, messages
    (message,) = messages
    assert message.startswith("PeersFailed: ")
    for part in parts:
        assert part in message


BROUGHT = {
    "rows": "the features have 8 rows, and the rank's bucket has 9",
    "width": "width 4",
    "dtype": "brings bfloat16",
    "device": "the features are on meta, and the process group exchanges on cpu",
    "shape": "the features have shape [27], and the exchange needs [rows, width]",
    "nothing": "no payload tensor was given",
    "payloads": "2 payloads of width 3, 3",
    "none": "the features are of type NoneType, and no tensor",
    "list": "payload 0 is of type int, and no tensor",
    "sparse": "the features cannot be sent: the layout is sparse_coo, and must be strided",
}
MERGED = {
    "length": "inputs_embeds have shape [1, 9, 3], and the routes need [at least 1, 8, 3]",
    "dtype": "inputs_embeds are torch.int64, which would cut the features' fractions off",
    "list": "inputs_embeds are of type list, and no tensor",
    "sparse": "inputs_embeds cannot be merged into: the layout is sparse_coo, and must be strided",
    "payload": "there is no payload 1: the call brought 1",
}


@pytest.mark.slow
def test_wrong_features_on_one_rank_end_all() -> None:
    """In the first call or a later one, the others would wait in the collective, or get garbage."""
    cases = [(what, call) for what in BROUGHT for call in (1, 3)]
    for case, *heard in zip(cases, *run_ranks(4, fault_runs.one_brings, cases), strict=True):
        assert len(set(heard)) == 1, (case, heard)
        assert "rank 2" in heard[0], case
        assert BROUGHT[case[0]] in heard[0], case


def test_width_that_was_not_agreed_is_said_beside_the_one_that_was() -> None:
    """Advice about frozen encoders would lead nowhere for features of a wrong width."""
    said = "rank 2 brings width 4, and width 3 was agreed"
    assert run_ranks(4, fault_runs.one_brings, [("width", 3)]) == [[said]] * 4


@pytest.mark.slow
def test_wrong_embeddings_on_one_rank_end_all() -> None:
    """A rank that cannot merge would leave the others in the backward collective."""
    for case, *heard in zip(MERGED, *run_ranks(4, fault_runs.one_merges_wrongly, [*MERGED]), strict=True):
        assert heard == [f"rank 2: {MERGED[case]}"] * 4, case


def test_group_that_broke_off_stays_so() -> None:
    """Whether a call after that worked must not depend on how long it takes the peers to come."""
    first, second = run_ranks(2, fault_runs.one_goes_on)
    assert first == second
    assert first == ["rank 1 brings float32 on cpu, width 3, and rank 0 float32 on cpu, width 2"] * 2


def test_other_routes_on_one_rank_are_refused() -> None:
    """Ranks with different tables would exchange rows of different images."""
    _same_message(end_ranks(2, fault_runs.one_has_other_routes), "rank 1 has other routes than rank 0")


def test_another_version_on_one_rank_is_refused() -> None:
    """Two versions may plan the same items differently."""
    ended = end_ranks(2, fault_runs.one_has_another_version)
    _same_message(ended, "rank 1 runs hpplan 0.9.0, and rank 0 runs ")


def test_micro_batch_planned_from_other_items_is_refused() -> None:
    """A data loader that hands out different items must not go unnoticed."""
    _same_message(end_ranks(2, fault_runs.one_plans_otherwise, 4), "rank 1 has other routes than rank 0")


@pytest.mark.slow
def test_micro_batch_that_one_rank_cannot_plan_ends_all() -> None:
    """The rank itself says what is wrong with its items, and the others say whose items are wrong."""
    first, second = end_ranks(2, fault_runs.one_plans_otherwise, 13)
    assert first.error.startswith("PeersFailed: rank 1: cannot plan its micro-batch: ")
    assert second.error.startswith("InvalidInput: ")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["items", "sequence", "buckets"])
def test_micro_batch_that_is_none_at_all_ends_all(part: str) -> None:
    """A slip of one rank's data loader would leave the others waiting for it."""
    first, second = end_ranks(2, fault_runs.one_hands_in_nonsense, part)
    words = f"{part} cannot be what a workload has: "
    assert first.error.startswith(f"PeersFailed: rank 1: cannot plan its micro-batch: {words}")
    assert second.error.startswith(f"UnusableRequest: {words}")


def test_what_makes_no_group_is_refused() -> None:
    """A rank that is not in its group, or a time limit that is none, shows long before something hangs."""
    for said in run_ranks(2, fault_runs.one_makes_no_group):
        assert [text.partition(" is ")[0] for text in said[:2]] == ["this rank's process group"] * 2
        assert [text.rpartition(" ")[2] for text in said[2:]] == ["-1", "'3'"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "timeout", "words"),
    [
        # Longer than `end_ranks` has patience for: that a rank is gone must be noticed, not waited out.
        ("exit", 120, "rank 1 is lost: it exited or died"),
        ("hang", 8, "rank 1 is lost: it did not follow within 8 s"),
    ],
)
def test_lost_rank_is_named_in_time(how: str, timeout: float, words: str) -> None:
    """Without a name, somebody has to look through the logs of every host."""
    ended = end_ranks(4, fault_runs.one_is_lost, how, timeout)
    heard = {ended[rank].value for rank in (0, 2, 3)}
    assert heard == {f"{words} while the others were exchanging features"}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("world", "2 the mesh cp=4,tp=1 has 4 ranks, and the job runs on 2"),
        ("group", "2 the process group has ranks [0], and the routes are for [0, 1]"),
        ("grad", '2 replica_grad is "mean" or "sum", not \'median\''),
    ],
)
def test_wrong_setup_is_refused(how: str, words: str) -> None:
    """A group or option that does not fit must be said, before anything waits for anybody."""
    assert run_ranks(2, fault_runs.wrong_setup, how)[0] == words


def test_later_pipeline_stage_is_told_that_it_does_not_exchange() -> None:
    """A rank of the second stage would wait for a group that it is not in."""
    first, second = run_ranks(2, fault_runs.wrong_setup, "stage")
    assert first == "nothing"
    assert second == "2 rank 1 is on a later pipeline stage, and the first stage alone exchanges"
