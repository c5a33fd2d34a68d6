"""The worked routing cases and random workloads, run by real processes against a single-process model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import naive_model
import pytest
import yaml
from naive_model import Setting
from rank_runs import Run, run_gathering, run_settings
from ranks import run_ranks

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).parents[1].joinpath("cases", "routing.yaml").read_text(encoding="utf-8")
)


def _setting(case: dict[str, Any]) -> Setting:
    mesh = case["mesh"]
    return Setting(case["workload"], mesh["cp"], mesh["tp"], mesh["sp"])


def _check(setting: Setting, runs: list[Run], copies: int = 1) -> None:
    """Compare what every rank saw with the model that puts all features in place itself."""
    expected = naive_model.gradients(setting)
    rows = naive_model.rows_at(setting)
    produced = {}
    for rank, run in enumerate(runs):
        for (item, start, stop), contents in zip(run.handed_over, run.contents, strict=True):
            assert contents == [naive_model.feature(item, row) for row in range(start, stop)]
        assert run.merged == naive_model.merged(setting, rank)
        produced.update(run.gradients)
        text = [
            naive_model.weight(batch, token)
            for batch in range(setting.batch_rows)
            for token in naive_model.tokens_of(setting, rank)
            if (batch, token) not in rows
        ]
        assert run.text_gradient == sum(text)
    assert produced == {name: gradient * copies for name, gradient in expected.items()}


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(world, marks=[pytest.mark.slow] * (world > 2))
        for world in sorted({_setting(case).world for case in CASES})
    ],
)
def test_worked_cases_run_end_to_end(world: int) -> None:
    """Wrong rows, order, positions or gradients in any worked case and granularity would show here."""
    cases = [case for case in CASES if _setting(case).world == world]
    runs = [(case, granularity) for case in cases for granularity in ("record", "row")]
    settings = [(_setting(case), granularity, "float32") for case, granularity in runs]
    by_rank = run_ranks(world, run_settings, settings)
    for number, (case, granularity) in enumerate(runs):
        of_ranks = [results[number] for results in by_rank]
        assert [list(run.input_splits) for run in of_ranks] == case["expect"][granularity]["matrix"]
        wanted = case["expect"][granularity]["handed_over"]
        assert [run.handed_over for run in of_ranks] == [wanted.get(rank, []) for rank in range(world)]
        _check(_setting(case), of_ranks)


@pytest.mark.slow
def test_a_made_up_mode_gathers() -> None:
    """A mode whose collective is an all-gather brings rows to ranks that expect none."""
    case = next(case for case in CASES if case["title"] == "encoder on rank 0, owner on rank 1")
    runs = run_ranks(2, run_gathering, _setting(case))
    sizes = [item["output_rows"] for item in case["workload"]["items"]]
    buckets = case["workload"]["buckets"]
    for run, bucket in zip(runs, buckets, strict=True):
        assert list(run.input_splits) == [sum(sizes[item] for item in bucket)] * 2
        assert sorted(run.handed_over) == [[item, 0, rows] for item, rows in enumerate(sizes)]
    _check(_setting(case), runs)


def _random_setting(rng: random.Random, world: int) -> Setting:
    tp = rng.choice([size for size in (1, 2, 4, 8) if world % size == 0])
    cp, sp = world // tp, tp > 1 and rng.random() < 0.6
    chunk = 2 * cp * tp
    documents = [chunk * rng.randint(0, 3) for _ in range(3)] + [chunk]
    length = sum(documents)
    sequence: dict[str, Any] = {"length": length, "cp_layout": rng.choice(["contiguous", "zigzag"])}
    if sequence["cp_layout"] == "zigzag" and rng.random() < 0.5:
        sequence["documents"] = documents
    items: list[dict[str, Any]] = []
    for batch in range(rng.randint(1, 3)):
        token = 0
        while token < length and rng.random() < 0.9:
            start = token + rng.randint(0, 5)
            rows = rng.randint(1, max(1, length // 4))
            if start + rows > length:
                break
            items.append(
                {
                    "item_id": len(items),
                    "batch_index": batch,
                    "decoder_token_start": start,
                    "output_rows": rows,
                }
            )
            token = start + rows
    encoder_cp_size = rng.choice([size for size in (1, 2) if world % size == 0])
    buckets: list[list[int]] = [[] for _ in range(world // encoder_cp_size)]
    for item in rng.sample(items, len(items)):
        # A few buckets get everything, so that many ranks send nothing.
        rng.choice(buckets[: max(1, len(buckets) // 2)] if rng.random() < 0.7 else buckets).append(
            item["item_id"]
        )
    workload = {"encoder_cp_size": encoder_cp_size, "sequence": sequence, "items": items, "buckets": buckets}
    return Setting(workload, cp, tp, sp)


@pytest.mark.parametrize(
    ("world", "count"),
    [(1, 4), (2, 12), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((4, 12), (8, 6)))],
)
def test_random_workloads_equal_one_process(world: int, count: int) -> None:
    """Layouts, empty senders, several batch rows or dtypes that go wrong together would show here."""
    rng = random.Random(world)  # noqa: S311 - a repeatable choice of workloads
    settings = []
    for _ in range(count):
        setting = _random_setting(rng, world)
        dtype = rng.choice(["float32", "bfloat16", "float16", "float64"])
        settings.append((setting, rng.choice(["record", "row"]), dtype))
    by_rank = run_ranks(world, run_settings, settings)
    for number, (setting, _, _) in enumerate(settings):
        _check(setting, [results[number] for results in by_rank])


@pytest.mark.slow
@pytest.mark.parametrize("replica_grad", ["mean", "sum"])
def test_replica_grad_says_what_copies_count(replica_grad: str) -> None:
    """Without sp, TP ranks hold copies: `mean` must count a token's gradient once, `sum` tp times."""
    workload = {
        "sequence": {"length": 24},
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 3, "output_rows": 10},
            {"item_id": 4, "batch_index": 1, "decoder_token_start": 9, "output_rows": 5},
        ],
    }
    settings = [
        Setting({**workload, "buckets": [[4], [], [0], []]}, 2, 2, sp=False),
        Setting({**workload, "buckets": [[], [0, 4], [], []]}, 1, 4, sp=False),
        Setting({**workload, "buckets": [[], [0, 4], [], []]}, 1, 4, sp=True),
    ]
    by_rank = run_ranks(4, run_settings, [(one, "record", "bfloat16") for one in settings], replica_grad)
    for number, setting in enumerate(settings):
        copies = setting.tp if replica_grad == "sum" and not setting.sp else 1
        _check(setting, [results[number] for results in by_rank], copies)


def test_second_payload_travels_beside_the_first() -> None:
    """Payloads share one collective: mixing up their columns would show here, and so would a second call."""
    workload = {
        "sequence": {"length": 8},
        "items": [{"item_id": 2, "batch_index": 0, "decoder_token_start": 2, "output_rows": 4}],
        "buckets": [[], [2]],
    }
    runs = run_ranks(2, run_settings, [(Setting(workload, 2, 1, sp=False), "record", "float32")])
    held = [naive_model.feature(2, row, column=1, payload=1) for row in range(4)]
    text = [naive_model.TEXT] * 2
    assert [run.second for (run,) in runs] == [[text + held[:2]], [held[2:] + text]]
    assert [run.calls for (run,) in runs] == [2, 2], "one collective forward and one backward"


@pytest.mark.slow
def test_tp_need_not_be_innermost() -> None:
    """Ranks of a process group are sorted by torch; a mesh of another order would get others' rows."""
    workload = {
        "sequence": {"length": 32, "cp_layout": "zigzag"},
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
            {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 8},
        ],
        "buckets": [[0], [1], [], []],
    }
    settings = [Setting(workload, 2, 2, sp, tp_outermost=True) for sp in (True, False)]
    by_rank = run_ranks(4, run_settings, [(one, "record", "float32") for one in settings])
    # Parent rank 1, which produces item 1, is global rank 2 here.
    assert [len(results[0].gradients) for results in by_rank] == [10, 0, 8, 0]
    for number, setting in enumerate(settings):
        _check(setting, [results[number] for results in by_rank])
