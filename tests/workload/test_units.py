"""Videos split into items of temporal slices, and what items say of themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.workload.families import family_named
from hpplan.workload.families.base import Size
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner


def _made(hpplan: Runner, folder: Path, samples: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    (folder / "batch.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples), encoding="utf-8")
    result = hpplan("workload", str(folder / "batch.jsonl"), "--format", "json", *options)
    assert result.status == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _tokens(item: dict[str, Any]) -> list[int]:
    spans = item.get("spans") or [{"token_start": item["decoder_token_start"], "rows": item["output_rows"]}]
    return [token for one in spans for token in range(one["token_start"], one["token_start"] + one["rows"])]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        # Three steps of 2 x 3 rows: one run in Qwen2-VL, a run a step in Qwen3-VL, behind other tokens.
        ("qwen2_vl", [7, *[151656] * 18, 7]),
        ("qwen2_5_vl", [7, *[151656] * 18, 7]),
        ("qwen3_vl", [7, *[151656] * 6, 8, 8, *[151656] * 6, 8, *[151656] * 6, 7]),
    ],
)
@pytest.mark.parametrize(
    ("rows", "slices"),
    [("--split-videos", [1, 1, 1]), ("--split-videos=12", [2, 1]), ("--split-videos=99", [3])],
)
def test_units_are_whole_slices(
    hpplan: Runner, tmp_path: Path, model: str, tokens: list[int], rows: str, slices: list[int]
) -> None:
    """A unit with other tokens than its slices, or half a slice, would be encoded wrong."""
    sample = {"id": "clip", "input_ids": tokens, "video_grid_thw": [[3, 4, 6]]}
    items = _made(hpplan, tmp_path, [sample], "--model", model, rows)["items"]
    assert [item["output_rows"] for item in items] == [6 * count for count in slices]
    assert [item["input_rows"] for item in items] == [24 * count for count in slices]
    placeholders = [at for at, token in enumerate(tokens) if token == 151656]
    assert [token for item in items for token in _tokens(item)] == placeholders
    ends = [sum(slices[: at + 1]) for at in range(len(slices))]
    assert [item["slices"] for item in items] == [[end - n, end] for end, n in zip(ends, slices, strict=True)]
    assert {(item["sample"], tuple(item["grid"])) for item in items} == {("clip", (3, 4, 6))}


@pytest.mark.parametrize(
    ("model", "sample", "said"),
    [
        ("internvl", {"text_tokens": 4, "num_frames": [2]}, "internvl is not known to encode the frames"),
        ("kimi_k25", {"text_tokens": 4, "video_grid_thw": [[4, 4, 4]]}, "mixes the frames of a chunk"),
        ("custom", {"text_tokens": 4, "video_rows": [[3, 3]]}, "custom is not known to encode the frames"),
    ],
)
def test_families_that_look_across_frames_refuse(
    hpplan: Runner, tmp_path: Path, model: str, sample: dict[str, Any], said: str
) -> None:
    """Parts of such a video are other features than the whole."""
    (tmp_path / "batch.jsonl").write_text(json.dumps(sample), encoding="utf-8")
    result = hpplan("workload", str(tmp_path / "batch.jsonl"), "--model", model, "--split-videos")
    assert (result.status, result.stdout) == (1, "")
    assert "HP452" in result.stderr
    assert said in result.stderr


def test_images_are_never_split(hpplan: Runner, tmp_path: Path) -> None:
    """Attention goes all over an image."""
    sample = {"text_tokens": 4, "images": [{"width": 640, "height": 480}]}
    assert len(_made(hpplan, tmp_path, [sample], "--model", "qwen3_vl", "--split-videos")["items"]) == 1


LONG = {"id": "long", "text_tokens": 9, "videos": [{"width": 1280, "height": 720, "frames": 64}]}
SHORT = [
    {"id": f"short-{at}", "text_tokens": 9, "images": [{"width": 320, "height": 240}]} for at in range(7)
]


def test_one_long_video_no_longer_sets_the_pace(hpplan: Runner, tmp_path: Path) -> None:
    """The busiest of 8 ranks encodes nearly all of the batch; split, none encodes 1.1 times the mean."""
    loads = []
    for split in ((), ("--split-videos",)):
        options = (
            "--model",
            "qwen3_vl",
            "--mesh",
            "dp=8",
            "--replicas",
            "--micro-batch",
            "1",
            "--pool",
            "all",
        )
        data = _made(hpplan, tmp_path, [LONG, *SHORT], *options, *split)
        load = Traffic(plan_routes(parse_mesh("dp=8"), load_workload(data))).producer_load
        loads.append(load.largest / load.mean)
    assert loads[0] > 7
    assert loads[1] < 1.1


def test_replicas_of_a_pool_have_items_of_their_own_numbers(hpplan: Runner, tmp_path: Path) -> None:
    """Buckets could not tell two items of one number apart."""
    options = ("--model", "qwen3_vl", "--mesh", "dp=4", "--replicas", "--micro-batch", "2")
    for more in ((), ("--pool", "2"), ("--pool", "all")):
        data = _made(hpplan, tmp_path, [LONG, *SHORT], *options, *more)
        ids = [item["item_id"] for replica in data["replicas"] for item in replica["items"]]
        assert ids == list(range(8))
        pool = {"2": 2, "all": 4}.get(more[-1] if more else "", 1)
        for first in range(0, 4, pool):
            group = data["replicas"][first : first + pool]
            own = sorted(item["item_id"] for replica in group for item in replica["items"])
            assert sorted(one for replica in group for bucket in replica["buckets"] for one in bucket) == own
        assert plan_routes(parse_mesh("dp=4"), load_workload(data)).mesh.pool == pool


def test_a_pool_needs_replicas(hpplan: Runner, tmp_path: Path) -> None:
    """Replicas that run the same have nothing to share."""
    (tmp_path / "batch.jsonl").write_text(json.dumps(SHORT[0]), encoding="utf-8")
    result = hpplan(
        "workload", str(tmp_path / "batch.jsonl"), "--model", "qwen3_vl", "--mesh", "dp=2", "--pool", "2"
    )
    assert result.status == 2
    assert "add --replicas" in result.stderr


@pytest.mark.parametrize(
    ("model", "kind", "grid", "rows", "width"),
    [
        ("qwen2_vl", "image", (1, 4, 6), 24, 3 * 2 * 14 * 14),
        ("qwen3_vl", "video", (3, 4, 6), 72, 3 * 2 * 16 * 16),
        ("kimi_vl", "image", (4, 6), 24, 3 * 14 * 14),
        ("kimi_k25", "video", (3, 4, 6), 72, 3 * 14 * 14),
        ("internvl", "image", (7,), 7, 3 * 448 * 448),
        ("llava_next", "image", (480, 640), 5, 3 * 336 * 336),
    ],
)
def test_input_rows(model: str, kind: Any, grid: tuple[int, ...], rows: int, width: int) -> None:  # noqa: ANN401 - a literal
    """What travels to another replica is not what the processor makes: patches, tiles or views."""
    family = family_named(model)()
    assert family.input_rows(kind, family.from_grid(kind, grid), grid) == rows
    assert family.input_width == width


def test_input_rows_of_sizes() -> None:
    """Where only a size is known, its grid follows; nine frames of Kimi K2.5 are nine times the patches."""
    family = family_named("kimi_k25")()
    size = Size(28, 28, frames=9)
    assert family.from_size("video", size) == (1, 1, 1)
    assert family.input_rows("video", (1, 1, 1), size) == 4 * 9
    assert family_named("custom")().input_rows("image", (7,), (7,)) is None
