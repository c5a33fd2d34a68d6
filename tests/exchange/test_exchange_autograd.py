"""The gradient promises: every rank issues the same collectives, and rows get back what they are owed."""

from __future__ import annotations

import autograd_runs
import pytest
from naive_model import feature
from ranks import run_ranks

ONES = [[1.0, 1.0, 1.0]] * 8


def test_image_that_crosses_gets_all_gradients_back() -> None:
    """A producer that owns none of its tokens would train on nothing; its idle peer must not hang it."""
    assert run_ranks(2, autograd_runs.whole_image_crosses) == [ONES, None]


def test_receiver_that_ignores_what_it_got_is_tied_in() -> None:
    """A loss that leaves out what was received must not keep the producer waiting, nor poison it."""
    first, second = run_ranks(2, autograd_runs.receiver_ignores)
    assert first == ([[0.0] * 3] * 8, [1.0] * 3, 2)
    assert second == ([], [float("inf")] * 3, 2)


def test_rank_that_receives_nothing_keeps_its_edge() -> None:
    """Zero rows without edge, dtype or device would drop a rank out of the backward collective."""
    first, second = run_ranks(2, autograd_runs.empty_receiver)
    assert first == (([0, 3], "torch.bfloat16", "cpu", True, True), 2, 0)
    assert second == (([8, 3], "torch.bfloat16", "cpu", True, True), 2, 1)


@pytest.mark.parametrize("width", [1, 3])
def test_sum_of_no_rows_has_a_gradient_too(width: int) -> None:
    """Torch calls an expanded tensor of no rows contiguous, but no bytes of it can be sent."""
    assert run_ranks(2, autograd_runs.sums_what_it_received, width) == [([[1.0] * width] * 8, 0), ([], 1)]


def test_frozen_encoder_costs_no_backward_collective() -> None:
    """With a frozen encoder no gradients need to travel; thawed where not every rank sees it, they must."""
    assert run_ranks(2, autograd_runs.frozen_then_thawed) == [(1, 3, 24.0), (1, 3, None)]


def test_validation_before_training_does_not_switch_gradients_off() -> None:
    """What was agreed under no_grad must not hold for training."""
    assert run_ranks(2, autograd_runs.inference_first) == [(False, 3, True), (False, 3, None)]


def test_second_call_leaves_the_first_rows_alone() -> None:
    """A receive buffer used again would change rows that autograd has saved."""
    first, second = run_ranks(2, autograd_runs.two_calls_before_backward)
    assert first == (True, [[21.0] * 3] * 8, 0)
    assert second == (True, [], 1)


def test_payloads_merge_add_or_stay_unused() -> None:
    """DeepStack adds later payloads to hidden states; an unused payload gets gradient zero, not none."""
    first, second = run_ranks(2, autograd_runs.deep_stack)
    assert first == ([10.0] * 8, [[2.0], [1.0], [0.0]], 2, 0)
    held = [2 * feature(0, row) + feature(0, row, payload=1) for row in range(8)]
    assert second == (held, [[], [], []], 2, 1)


def test_features_need_not_be_contiguous() -> None:
    """From a strided tensor gloo sends wrong bytes without saying so."""
    first, second = run_ranks(2, autograd_runs.strided_features)
    assert first == (False, [], 24.0, 0)
    assert second[1] == [feature(0, row, 1) for row in range(8)]


def test_micro_batches_are_planned_from_items() -> None:
    """Each micro-batch has other items; a group made once must serve all, one without images too."""
    batches = [
        [{"item_id": 5, "batch_index": 0, "decoder_token_start": 6, "output_rows": 4}],
        [],
        [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2},
            {"item_id": 1, "batch_index": 1, "decoder_token_start": 12, "output_rows": 3},
        ],
    ]
    first, second = run_ranks(2, autograd_runs.planned, batches)

    def rows(item: int, count: int) -> tuple[int, int, int, list[float]]:
        return (item, 0, count, [feature(item, row) for row in range(count)])

    assert first == ([[rows(5, 4)], [], [rows(0, 2)]], 6, 0)
    assert second == ([[rows(5, 4)], [], [rows(1, 3)]], 6, 1)


@pytest.mark.parametrize(
    ("buckets", "straight"),
    [
        # Destination by destination, as rows are sent: items 0 and 1 are rank 0's, items 2 and 3 rank 1's.
        ([[0, 2], [1, 3]], True),
        # What goes to the other rank lies together; own rows never go out.
        ([[2, 3, 0], [1]], True),
        ([[2, 0, 3], [1]], False),
    ],
)
def test_rows_that_lie_in_order_are_not_copied(buckets: list[list[int]], straight: bool) -> None:
    """Features as they lie are the send buffer where they can be; what is received is never copied again."""
    first, second = run_ranks(2, autograd_runs.copies_made, buckets)
    assert first == (straight, True, True, 0)
    assert second == (True, True, True, 1)
