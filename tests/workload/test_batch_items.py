"""Items of batches as trainers have them, against tokens counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan.errors import UnusableRequest
from hpplan.workload.batch_items import items_from_batch
from hpplan.workload.families.qwen3_vl import Qwen3VL

IMAGE, VIDEO, T = 151655, 151656, 7
"""Placeholders of images and videos, and text."""


class Array:
    """Has `tolist`, as tensors and arrays do."""

    def __init__(self, rows: Any) -> None:  # noqa: ANN401 - nested lists
        """Take nested lists."""
        self._rows = rows

    def tolist(self) -> Any:  # noqa: ANN401 - the same
        """Return them."""
        return self._rows


IDS = [
    [0, 0, T, IMAGE, IMAGE, T, IMAGE, IMAGE, IMAGE, IMAGE],  # padded on the left: images of 2 rows and of 4
    [T, T, T, T, T, T, T, T, 0, 0],
    [T, VIDEO, VIDEO, T, VIDEO, VIDEO, T, IMAGE, IMAGE, 0],  # a video of two steps of 2 rows, and an image
]
MASK = [[0, 0, 1, 1, 1, 1, 1, 1, 1, 1], [1] * 8 + [0] * 2, [1] * 9 + [0]]
IMAGES, VIDEOS = [[1, 2, 4], [1, 4, 4], [1, 4, 2]], [[2, 2, 4]]


@pytest.mark.parametrize("kind", [list, Array])
def test_a_collated_batch(kind: Any) -> None:  # noqa: ANN401 - a type
    """Flat grids go to the wrong rows, or slices of pixels to the wrong item."""
    found = items_from_batch(
        "qwen3_vl",
        kind(IDS),
        attention_mask=kind(MASK),
        image_grid_thw=kind(IMAGES),
        video_grid_thw=kind(VIDEOS),
        sample_ids=["a", "b", "c"],
    )
    told = [
        (one["item_id"], one["batch_index"], one["decoder_token_start"], one["output_rows"], one["sample"])
        for one in found.items
    ]
    assert told == [(0, 0, 3, 2, "a"), (1, 0, 6, 4, "a"), (2, 2, 7, 2, "c"), (3, 2, 1, 4, "c")]
    assert found.items[3]["spans"] == [{"token_start": 1, "rows": 2}, {"token_start": 4, "rows": 2}]
    assert found.slices == [slice(0, 8), slice(8, 24), slice(24, 32), slice(0, 16)]
    assert found.kinds == ["image", "image", "image", "video"]
    assert [one["input_rows"] for one in found.items] == [8, 16, 8, 16]


@pytest.mark.parametrize(
    "packed",
    [
        {"cu_seqlens": Array([0, 4, 5, 9])},
        {"position_ids": [[0, 1, 2, 3, 0, 0, 1, 2, 3]]},
    ],
)
def test_a_packed_row(packed: dict[str, Any]) -> None:
    """Zigzag cuts across documents, or an image is traced to another sample than its own."""
    ids = [[T, T, IMAGE, IMAGE, T, IMAGE, IMAGE, T, T]]
    grids = [[1, 2, 4], [1, 2, 4]]
    found = items_from_batch("qwen3_vl", ids, image_grid_thw=grids, sample_ids=["a", "b", "c"], **packed)
    assert found.documents == [4, 1, 4]
    told = [(one["batch_index"], one["decoder_token_start"], one["sample"]) for one in found.items]
    assert told == [(0, 2, "a"), (0, 5, "c")]
    numbered = items_from_batch("qwen3_vl", ids, image_grid_thw=grids, **packed)
    assert [one["sample"] for one in numbered.items] == [0, 2]


def test_padding_that_looks_like_an_image_is_none() -> None:
    """Some tokenizers pad with a placeholder."""
    found = items_from_batch(
        Qwen3VL(),
        [[IMAGE, IMAGE, T, IMAGE, IMAGE]],
        attention_mask=[[0, 0, 1, 1, 1]],
        image_grid_thw=[[1, 2, 4]],
    )
    assert [(one["decoder_token_start"], one["sample"]) for one in found.items] == [(3, 0)]


@pytest.mark.parametrize(
    ("split", "slices", "rows"),
    [(True, [[0, 1], [1, 2], [2, 3]], [2, 2, 2]), (4, [[0, 2], [2, 3]], [4, 2]), (False, [None], [6])],
)
def test_units_of_a_video(split: Any, slices: list[Any], rows: list[int]) -> None:  # noqa: ANN401 - a flag or a number
    """Parts have the pixels, the tokens and the grid of their slices."""
    ids = [[T, VIDEO, VIDEO, T, VIDEO, VIDEO, T, VIDEO, VIDEO]]
    found = items_from_batch("qwen3_vl", ids, video_grid_thw=[[3, 2, 4]], split_videos=split)
    assert [one.get("slices") for one in found.items] == slices
    assert [one["output_rows"] for one in found.items] == rows
    assert [part.stop - part.start for part in found.slices] == [4 * count for count in rows]
    assert found.grids == [(count // 2, 2, 4) for count in rows]
    starts = [1, 4, 7]
    assert [one["decoder_token_start"] for one in found.items] == [starts[(s or [0])[0]] for s in slices]


def test_a_video_that_cannot_be_split() -> None:
    """Parts of a chunk are other features than the whole."""
    ids = [[T, 163840]]
    with pytest.raises(UnusableRequest, match="videos cannot be split: kimi_k25 mixes the frames"):
        items_from_batch("kimi_k25", ids, video_grid_thw=[[4, 2, 2]], split_videos=True)


def test_no_images_at_all() -> None:
    """A replica of text alone is normal."""
    assert items_from_batch("qwen2_5_vl", [[T, T]]).items == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("qwen4", [[T]], {}), "there is no family 'qwen4'; it is one of qwen2_vl, "),
        (("qwen3_vl", [T, T], {}), "input_ids must be [batch rows, tokens]"),
        (("qwen3_vl", [[T]], {"num_patches": [1]}), "qwen3_vl has no num_patches; it reads image_grid_thw"),
        (("qwen3_vl", [[T]], {"image_grid_thw": [[1, 3, 4]]}), "image_grid_thw 0: a grid of 3 x 4 patches"),
        (
            ("qwen3_vl", [[T, IMAGE]], {"image_grid_thw": [[1, 2, 4]]}),
            "row 0 has 1 placeholder (151655)",
        ),
        (
            ("qwen3_vl", [[T, IMAGE, IMAGE]], {}),
            "row 0 has 2 placeholders (151655), and the grids",
        ),
        (
            ("qwen3_vl", [[T]], {"image_grid_thw": [[1, 2, 4]]}),
            "1 image or video of the batch, from image 0 on",
        ),
        (("qwen3_vl", [[T]], {"attention_mask": [[1, 1]]}), "attention_mask has another shape"),
        (
            # Were images taken first, the video's tokens would pass for the image's.
            ("internvl", [[151667] * 512], {"num_patches": [1], "num_frames": [1]}),
            "images and videos of internvl have the same placeholder, 151667",
        ),
        (("qwen3_vl", [[T]], {"sample_ids": []}), "there are 0 sample_ids for 1 batch row"),
        (
            ("qwen3_vl", [[T] * 4], {"cu_seqlens": [0, 2, 4], "sample_ids": ["a"]}),
            "there is 1 sample_id for 2 documents",
        ),
        (
            ("qwen3_vl", [[T], [T]], {"cu_seqlens": [0, 1]}),
            "documents are packed into one batch row, not into 2",
        ),
        (
            ("qwen3_vl", [[T] * 4], {"cu_seqlens": [0, 2, 5]}),
            "cu_seqlens must go up from 0 to 4, the number of tokens",
        ),
        (
            ("qwen3_vl", [[T] * 4], {"position_ids": [[1, 2, 0, 1]]}),
            "position_ids must begin with 0, at each document",
        ),
        (
            ("qwen3_vl", [[T] * 4], {"position_ids": [[0, 1]]}),
            "position_ids has another shape than input_ids",
        ),
    ],
)
def test_what_does_not_fit_is_named(arguments: tuple[Any, Any, dict[str, Any]], said: str) -> None:
    """A trainer looks for the image among thousands."""
    family, ids, more = arguments
    with pytest.raises(UnusableRequest) as raised:
        items_from_batch(family, ids, **more)
    assert said in str(raised.value)
