"""Records of a batch file to samples and micro-batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hpplan.documents.json_text.samples import SampleData
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput
from hpplan.routing.buckets import Encoders
from hpplan.routing.mesh import parse_mesh
from hpplan.workload.families.custom import Custom
from hpplan.workload.families.internvl import InternVL
from hpplan.workload.families.llava_next import LlavaNext
from hpplan.workload.families.qwen2_vl import Qwen2VL
from hpplan.workload.families.qwen3_vl import Qwen3VL
from hpplan.workload.grouping import OPEN_PACKS, grouped, packed
from hpplan.workload.micro_batch import MicroBatch, WorkloadSettings
from hpplan.workload.samples import Sample, read_sample

if TYPE_CHECKING:
    from hpplan.diagnostics import Diagnostic
    from hpplan.workload.families.base import Family

IMAGE, VIDEO, START, END = 151655, 151656, 151652, 151653


def sample(family: Family, **data: Any) -> Sample:  # noqa: ANN401 - JSON
    """Read a sample from line 7 of a file."""
    return read_sample(SampleData(data, 7, Source("b.jsonl", json.dumps(data), "json"), start=(7, 1)), family)


def found_in(family: Family, **data: Any) -> list[Diagnostic]:  # noqa: ANN401 - JSON
    """Return what is wrong with a sample."""
    with pytest.raises(InvalidInput) as caught:
        sample(family, **data)
    return list(caught.value.diagnostics)


def spans(found: Sample) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
    """Return kind and spans of each item."""
    return [(item.kind, item.spans) for item in found.items]


def test_a_video_before_an_image_keeps_its_own_tokens() -> None:
    """Features come images first, tokens as in the text: mixing them up puts video rows on the image."""
    ids = [9, START, *[VIDEO] * 8, END, START, *[IMAGE] * 4, END]
    found = sample(Qwen2VL(), input_ids=ids, image_grid_thw=[[1, 4, 4]], video_grid_thw=[[2, 4, 4]])
    assert spans(found) == [("image", ((12, 4),)), ("video", ((2, 8),))]
    assert found.length == 17


def test_two_videos_do_not_share_a_grid() -> None:
    """Each video takes the rows of its own grid, in Qwen2 as one run and in Qwen3 as a run for each frame."""
    ids = [START, *[VIDEO] * 8, END, START, *[VIDEO] * 12, END]
    grids = [[2, 4, 4], [3, 4, 4]]
    assert spans(sample(Qwen2VL(), input_ids=ids, video_grid_thw=grids)) == [
        ("video", ((1, 8),)),
        ("video", ((11, 12),)),
    ]
    frame = [7, START, *[VIDEO] * 4, END]
    found = sample(Qwen3VL(), input_ids=frame * 5, video_grid_thw=grids)
    assert spans(found) == [
        ("video", ((2, 4), (9, 4))),
        ("video", ((16, 4), (23, 4), (30, 4))),
    ]


def test_adjacent_images_are_split_by_their_grids() -> None:
    """Two images side by side are two items, not one."""
    found = sample(Qwen2VL(), input_ids=[IMAGE] * 10, image_grid_thw=[[1, 4, 4], [1, 4, 6]])
    assert spans(found) == [("image", ((0, 4),)), ("image", ((4, 6),))]


def test_a_batch_of_one_is_a_sample() -> None:
    """Processors return lists of lists for one sample."""
    assert sample(Qwen2VL(), input_ids=[[1, 2, 3]], image_grid_thw=None).length == 3


def test_sizes_only() -> None:
    """Text is shared out evenly; markup is the family's. 6 + 1 + 256 + 1 + 6 tokens, the rest at the end."""
    found = sample(Qwen2VL(), text_tokens=12, images=[{"width": 448, "height": 448}])
    assert (found.length, spans(found)) == (270, [("image", ((7, 256),))])
    listed = sample(Qwen2VL(), text_tokens=[3, 9], images=[{"width": 448, "height": 448}])
    assert (listed.length, spans(listed)) == (270, [("image", ((4, 256),))])
    text = sample(Qwen2VL(), text_tokens=5)
    assert (text.length, text.items) == (5, ())


def test_sizes_with_tokens() -> None:
    """Sizes may stand in for grids beside `input_ids`: 448 x 448 is one tile of 256 rows."""
    found = sample(InternVL(), input_ids=[1, *[151667] * 256], images=[{"width": 448, "height": 448}])
    assert spans(found) == [("image", ((1, 256),))]
    found = sample(LlavaNext(), input_ids=[*[32000] * 2340], image_sizes=[[480, 640]])
    assert spans(found) == [("image", ((0, 2340),))]


def test_custom_runs() -> None:
    """A list of rows means several runs."""
    ids = [1, 5, 5, 1, 5, 5, 5, 6]
    found = sample(Custom(image_id=5, video_id=6), input_ids=ids, image_rows=[[2, 2], 1], video_rows=[1])
    assert spans(found) == [("image", ((1, 2), (4, 2))), ("image", ((6, 1),)), ("video", ((7, 1),))]


def test_a_mismatch_names_sample_image_and_both_numbers() -> None:
    """Without the numbers nobody finds out what went wrong."""
    ids = [START, *[IMAGE] * 4, END, START, *[IMAGE] * 3, END]
    (found,) = found_in(Qwen2VL(), id="cat", input_ids=ids, image_grid_thw=[[1, 4, 4], [1, 4, 4]])
    assert found.code.id == "HP451"
    assert (
        "sample 'cat': image 2, grid (1, 4, 4), has 4 rows and 3 placeholders (151655) at token 7"
        in found.message
    )
    assert found.place.position is not None
    assert found.place.position[0] == 7


def test_a_video_with_too_few_runs_is_named_where_it_stands() -> None:
    """A video that lost a frame is said to stand at token 0, or where the sample ends."""
    (found,) = found_in(
        Qwen3VL(), id="short", input_ids=[9, 9, 9, VIDEO, VIDEO, 7], video_grid_thw=[[2, 2, 4]]
    )
    assert found.message == (
        "sample 'short': video 1, grid (2, 2, 4), has 4 rows in 2 runs and "
        "2 placeholders (151656) in 1 run at token 3"
    )
    ids = [9, VIDEO, VIDEO, 9, VIDEO, VIDEO, 9, VIDEO, VIDEO]
    (found,) = found_in(Qwen3VL(), input_ids=ids, video_grid_thw=[[2, 2, 4]] * 2)
    assert found.message == (
        "sample 7: videos 1 to 2 have 8 rows in 4 runs and 6 placeholders (151656) in 3 runs at token 1"
    )


def test_placeholders_without_an_image() -> None:
    """A sample whose grids were lost is told which fields are read."""
    (found,) = found_in(Qwen2VL(), input_ids=[1, IMAGE])
    assert "sample 7: 1 placeholder (151655) at token 1 without an image" in found.message
    assert "image_grid_thw" in (found.hint or "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "neither `input_ids` nor `text_tokens`"),
        ({"text_tokens": -1}, "whole number of at least 0"),
        ({"text_tokens": True}, "whole number of at least 0"),
        ({"text_tokens": [1, 2]}, "has 2 entries, not 1"),
        ({"text_tokens": 0}, "not a single token"),
        ({"text_tokens": [int("9" * 4300)] * 2, "images": [{"width": 9, "height": 9}]}, "more tokens than"),
        ({"input_ids": []}, "list of whole numbers"),
        ({"input_ids": [1, 2.0]}, "list of whole numbers"),
        ({"input_ids": [True]}, "list of whole numbers"),
        ({"input_ids": 5}, "list of whole numbers"),
        ({"text_tokens": 1, "images": {}}, "`images` must be a list"),
        ({"text_tokens": 1, "images": [5]}, "must be {width, height}"),
        ({"text_tokens": 1, "images": [{"width": 5}]}, "image 1 needs `height`"),
        ({"text_tokens": 1, "images": [{"width": 0, "height": 5}]}, "at least 1"),
        ({"text_tokens": 1, "videos": [{"width": 5, "height": 5}]}, "video 1 needs `frames`"),
        ({"text_tokens": 1, "videos": [{"width": 5, "height": 5, "frames": 1, "fps": 0}]}, "above 0"),
        ({"text_tokens": 1, "videos": [{"width": 5, "height": 5, "frames": 1, "fps": 10**400}]}, "fps"),
        ({"text_tokens": 1, "videos": [{"width": 5, "height": 5, "frames": 1, "fps": 5e-324}]}, "fps"),
        ({"text_tokens": 1, "images": [{"width": 5000, "height": 5}]}, "aspect ratio above 200"),
        ({"input_ids": [1], "image_grid_thw": 5}, "`image_grid_thw` must be a list"),
        ({"input_ids": [1], "image_grid_thw": [[1, 2]]}, "must be [t, h, w]"),
        ({"input_ids": [1], "image_grid_thw": [[1, 2, "2"]]}, "must be [t, h, w]"),
        ({"input_ids": [1], "image_grid_thw": [[0, 2, 2]]}, "at least 1"),
    ],
)
def test_malformed_samples(data: dict[str, Any], words: str) -> None:
    """Each fault has its own words and a place; none is guessed at."""
    found = found_in(Qwen2VL(), **data)
    assert any(words in item.message for item in found), found
    assert all(item.place.position and item.place.position[0] == 7 for item in found)


def test_all_faults_of_a_sample_are_reported() -> None:
    """Three faults in one line are three findings."""
    images = [{"width": 0, "height": 5}, 5]
    assert len(found_in(Qwen2VL(), input_ids="x", images=images)) == 3


def test_families_say_what_they_do_not_take() -> None:
    """Videos for a family without them, no placeholder id, and an order that cannot be told."""
    (found,) = found_in(LlavaNext(), text_tokens=1, videos=[{"width": 5, "height": 5, "frames": 2}])
    assert "llava_next takes no videos" in found.message
    (found,) = found_in(Custom(), input_ids=[1], image_rows=[1])
    assert "no placeholder for images" in found.message
    (found,) = found_in(InternVL(), input_ids=[1], num_patches=[1], num_frames=[1])
    assert "same placeholder" in found.message


FIELDS = {"feature_width": 8, "pad": True}
SETTINGS = WorkloadSettings(FIELDS)


def text(length: int, *images: tuple[int, int]) -> Sample:
    """Return a sample of `length` tokens with images at (token, rows)."""
    ids = [1] * length
    for start, rows in images:
        ids[start : start + rows] = [5] * rows
    return sample(Custom(image_id=5), input_ids=ids, image_rows=[rows for _, rows in images])


def test_a_sample_is_a_batch_row() -> None:
    """Items are numbered images first over all samples; the sequence is as long as the longest sample."""
    both = sample(Custom(image_id=5, video_id=6), input_ids=[6, 6, 5], image_rows=[1], video_rows=[2])
    (found,) = grouped([both, text(9, (4, 3))], SETTINGS, None, [])
    data = found.to_data()
    assert data["sequence"] == {"length": 9, "cp_layout": "contiguous", "pad": True}
    assert data["items"] == [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 2, "output_rows": 1},
        {"item_id": 1, "batch_index": 1, "decoder_token_start": 4, "output_rows": 3},
        {"item_id": 2, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2},
    ]


def test_micro_batches_and_replicas() -> None:
    """Seven samples make micro-batches of 2 on each of 2 replicas: 2 + 2, then 2 + 1."""
    settings = WorkloadSettings(FIELDS, replicas=2)
    found = list(grouped([text(3 + number) for number in range(7)], settings, 2, []))
    assert [[rows.samples for rows in one.batches] for one in found] == [[2, 2], [2, 1]]
    assert [one.length for one in found] == [6, 9]
    assert [len(one.to_data()["replicas"]) for one in found] == [2, 2]


def test_samples_longer_than_the_sequence() -> None:
    """A sample that does not fit is reported, and the others go on."""
    problems: list[Diagnostic] = []
    (found,) = grouped([text(5), text(9), text(4)], WorkloadSettings(FIELDS, length=8), None, problems)
    assert (found.samples, found.length) == (2, 8)
    assert [(item.code.id, "has 9 tokens" in item.message) for item in problems] == [("HP453", True)]


def packs(*lengths: int, length: int, multiple: int = 1) -> list[list[int]]:
    """Return the documents of the packs that samples of these lengths make."""
    return [one.documents for one in packed([text(size) for size in lengths], SETTINGS, length, [], multiple)]


def test_first_fit_packing() -> None:
    """A sample goes into the first pack with room; the rest of a row is a document of its own."""
    assert packs(6, 5, 4, 3, length=10) == [[6, 4], [5, 3, 2]]


def test_packed_documents_divide() -> None:
    """Zigzag over cp=2 cuts every document into 4 chunks, so each is padded to a multiple of 4."""
    assert packs(5, 3, 1, length=16, multiple=4) == [[8, 4, 4]]


def test_items_move_with_their_document() -> None:
    """An image of the second document is at its offset; padding before it counts."""
    (found,) = packed([text(5, (1, 2)), text(3, (0, 1))], SETTINGS, 16, [], 4)
    assert [(item.batch_index, item.spans) for item in found.batches[0]] == [(0, ((1, 2),)), (0, ((8, 1),))]
    assert found.documents == [8, 4, 4]


def test_packs_stay_open_only_so_long() -> None:
    """A long file streams: no more than so many packs wait for a sample that still fits."""
    waiting = [text(6)] * (OPEN_PACKS + 2)
    stream = packed(iter(waiting), SETTINGS, 10, [])
    assert next(stream).documents == [6, 4]
    assert len(list(stream)) == OPEN_PACKS + 1


def test_no_token_is_lost_in_packing() -> None:
    """Documents of every pack add up to the length, and every sample is in one pack."""
    lengths = [3, 7, 2, 9, 4, 4, 8, 1, 5, 6]
    found = list(packed([text(size) for size in lengths], SETTINGS, 12, []))
    assert all(sum(one.documents) == 12 for one in found)
    assert sum(one.samples for one in found) == len(lengths)


def filled(encoders: Encoders, *samples: Sample, settings: WorkloadSettings = SETTINGS) -> MicroBatch:
    """Return a micro-batch of samples with its buckets."""
    (found,) = grouped(samples, settings, None, [])
    encoders.fill(found)
    return found


def test_buckets_without_a_mesh() -> None:
    """Largest first to the least loaded: 6 alone, then 4 and 1 against 3; each lists its items by token."""
    found = filled(Encoders("lpt", 2), text(40, (0, 3), (5, 6), (15, 4)))
    assert found.buckets == [[[1], [0, 2]]]


def test_buckets_for_a_mesh() -> None:
    """`local` asks the mesh who owns the tokens: the second half of 8 belongs to CP rank 1."""
    encoders = Encoders("local", 2, parse_mesh("cp=2"))
    found = filled(encoders, text(8, (0, 2), (5, 2)))
    assert found.buckets == [[[0], [1]]]


def test_a_micro_batch_that_does_not_fit_its_mesh() -> None:
    """A length that the mesh cannot share out is refused when padding is not allowed."""
    settings = WorkloadSettings({"feature_width": 8})
    with pytest.raises(InvalidInput) as caught:
        filled(Encoders("lpt", 2, parse_mesh("cp=2")), text(7), settings=settings)
    assert [item.code.id for item in caught.value.diagnostics] == ["HP431"]
