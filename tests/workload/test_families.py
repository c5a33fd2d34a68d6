"""Rows of every family, against its published arithmetic worked out by hand."""

from __future__ import annotations

import pytest

from hpplan.workload.families import FAMILIES, family_named
from hpplan.workload.families.base import Size, frame_time, temporal_steps
from hpplan.workload.families.custom import Custom
from hpplan.workload.families.internvl import InternVL
from hpplan.workload.families.kimi_k25 import KimiK25
from hpplan.workload.families.kimi_vl import KimiVL
from hpplan.workload.families.llava_next import LlavaNext
from hpplan.workload.families.qwen2_vl import Qwen2VL
from hpplan.workload.families.qwen3_vl import Qwen3VL
from hpplan.workload.families.resize import smart_resize

QWEN = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")


@pytest.mark.parametrize("name", QWEN)
@pytest.mark.parametrize(("grid", "rows"), [((1, 52, 94), 1222), ((1, 4, 4), 4), ((1, 2, 2), 1)])
def test_qwen_image_grids(name: str, grid: tuple[int, int, int], rows: int) -> None:
    """An image has t x h x w / 4 rows in every Qwen family; another sum shifts all later rows."""
    assert family_named(name)().from_grid("image", grid) == (rows,)


def test_qwen_videos() -> None:
    """Qwen2 has one run of placeholders for a video, Qwen3 one for each frame of the grid."""
    assert Qwen2VL().from_grid("video", (3, 4, 6)) == (18,)
    assert Qwen3VL().from_grid("video", (3, 4, 6)) == (6, 6, 6)


@pytest.mark.parametrize(
    ("width", "height", "rows"),
    [
        (448, 448, 16 * 16),
        (224, 224, 8 * 8),
        (1280, 720, 46 * 26),  # 45.7 and 25.7 steps of 28 pixels
        (28, 28, 2 * 2),  # grown to 56 x 56, the least area
        (8000, 8000, 128 * 128),  # shrunk to 3584 x 3584, the largest area
    ],
)
def test_qwen2_image_sizes(width: int, height: int, rows: int) -> None:
    """Sizes become rows as the Qwen2-VL processor resizes them."""
    assert Qwen2VL().from_size("image", Size(width, height)) == (rows,)


def test_qwen3_sizes() -> None:
    """Qwen3-VL has 32-pixel steps, rounds halves to even, and bounds the volume of a video."""
    assert Qwen3VL().from_size("image", Size(1280, 720)) == (40 * 22,)  # 22.5 steps round to 22
    assert Qwen3VL().from_size("image", Size(100, 100)) == (8 * 8,)  # grown to 256 x 256
    assert Qwen3VL().from_size("video", Size(640, 360, frames=17)) == (20 * 11,) * 9
    # 768 frames of 32 x 32 steps are the largest volume: twice the frames leave 1/sqrt(2) of a side.
    assert Qwen3VL().from_size("video", Size(1024, 1024, frames=48)) == (22 * 22,) * 24


def test_qwen3_measures_volumes_as_its_processor_does() -> None:
    """Five frames count as four, so 2400 x 2400 pixels of each fit; small frames are enlarged to one step."""
    assert Qwen3VL().from_size("video", Size(2405, 2405, frames=5)) == (75 * 75,) * 3
    # Six do not fit, and sqrt(24576 * 32 * 32 / 6) is 2048 pixels: 64 steps of 32.
    assert Qwen3VL().from_size("video", Size(2405, 2405, frames=6)) == (64 * 64,) * 3
    assert Qwen3VL().from_size("video", Size(112, 4, frames=4)) == (28, 28)
    with pytest.raises(ValueError, match="a video of 1 frame is shorter than the temporal patch of 2"):
        Qwen3VL().from_size("video", Size(448, 448, frames=1))


def test_kimi_refuses_what_has_no_positions() -> None:
    """Position embeddings end before 512 patches a side: 7140 pixels are 510 of them, and 7141 are 512."""
    assert KimiVL().from_size("image", Size(7140, 98)) == (255 * 4,)
    with pytest.raises(
        ValueError, match="7141x98 is 512 patches long, and the processor refuses 512 and more"
    ):
        KimiVL().from_size("image", Size(7141, 98))


def test_frames_fill_temporal_patches() -> None:
    """The last frame is repeated until the last temporal patch is full: 17 frames, 4 each, are 20."""
    assert temporal_steps(17, 4) == 5
    assert temporal_steps(16, 4) == 4
    # 56 x 56 grows to 336 x 336, the least area of a frame: 12 x 12 rows on each of 20 / 4 steps.
    assert Qwen2VL(temporal_patch=4).from_size("video", Size(56, 56, frames=17)) == (5 * 12 * 12,)
    assert Qwen2VL().from_size("video", Size(640, 360, frames=17)) == (9 * 23 * 13,)


def test_extreme_aspect_ratios_are_refused() -> None:
    """The Qwen processors refuse images more than 200 times as long as wide, and so must we."""
    assert smart_resize(28, 28 * 200, 28, 3136, 12845056)[0] == 28
    with pytest.raises(ValueError, match="aspect ratio above 200"):
        smart_resize(28, 28 * 200 + 1, 28, 3136, 12845056)


@pytest.mark.parametrize("name", [*QWEN, "kimi_vl"])
def test_grids_that_cannot_be_merged_are_refused(name: str) -> None:
    """A grid with an odd side has no whole number of rows; rounding would hide a wrong merge size."""
    family = family_named(name)()
    grid = (3, 4) if name == "kimi_vl" else (1, 3, 4)
    with pytest.raises(ValueError, match="not divided by merge size 2"):
        family.from_grid("image", grid)


@pytest.mark.parametrize(
    ("width", "height", "tiles"),
    [
        (448, 448, 1),
        (896, 448, 2 + 1),
        (1920, 1080, 4 * 2 + 1),  # 16:9 is nearest to 2:1, and large enough for 4 x 2
        (100, 200, 2 + 1),  # as near to 1 x 2 as to 2 x 4, and too small for the latter
        (4480, 448, 10 + 1),
    ],
)
def test_internvl_tiles(width: int, height: int, tiles: int) -> None:
    """InternVL picks the tile grid of the nearest aspect ratio, and adds a thumbnail to several tiles."""
    assert InternVL().from_size("image", Size(width, height)) == (256 * tiles,)


def test_internvl_given_tiles_and_frames() -> None:
    """`num_patches` counts the thumbnail already; a video frame is one tile in a run of its own."""
    assert InternVL().from_grid("image", (9,)) == (2304,)
    assert InternVL().from_grid("video", (3,)) == (256, 256, 256)


@pytest.mark.parametrize(
    ("width", "height", "rows"),
    [
        (640, 480, 576 + 36 * 48 + 36),
        (336, 336, 576 + 24 * 24 + 24),  # a 336 x 672 canvas, half of it padding
        (1000, 300, 576 + 22 * 72 + 22),  # a 336 x 1008 canvas: 21.6 of 24 lines, padding on both sides
    ],
)
def test_llava_next_anyres(width: int, height: int, rows: int) -> None:
    """LLaVA-NeXT drops the padding of its canvas and adds a newline a line; 480 x 640 is 2340."""
    assert LlavaNext().from_size("image", Size(width, height)) == (rows,)
    assert LlavaNext().from_grid("image", (height, width)) == (rows,)


def test_kimi_vl() -> None:
    """Kimi-VL pads to whole merges and shrinks to 4096 patches."""
    assert KimiVL().from_size("image", Size(640, 480)) == (23 * 18,)
    # 142 x 142 patches are too many: a side of 901 pixels stays, which is 33 merges of 28.
    assert KimiVL().from_size("image", Size(2000, 2000)) == (33 * 33,)
    assert KimiVL().from_grid("image", (46, 36)) == (414,)


def test_custom_rows() -> None:
    """A custom family takes rows as they are given, and knows sizes only with `rows`."""
    assert Custom().from_grid("image", (7, 3)) == (7, 3)
    assert Custom(rows=5).from_size("video", Size(1, 1, frames=2)) == (5, 5)
    with pytest.raises(ValueError, match="do not follow from its size"):
        Custom().from_size("image", Size(1, 1))


def test_qwen3_caps_the_pixels_of_a_frame() -> None:
    """As qwen-vl-utils does: 5 frames of 1954 x 2571 fit whole into the volume, and 768 rows a frame do not.

    61.06 x 80.34 steps of 32 are 61 x 80 rows for each of three temporal patches. With 768 * 32 * 32 pixels
    a frame the sides shrink by sqrt(1954 * 2571 / 786432) = 2.5275: to 773.1 and 1017.2 pixels.
    """
    size = Size(2571, 1954, frames=5)
    assert Qwen3VL().from_size("video", size) == (61 * 80,) * 3
    assert Qwen3VL(cap_pixels_per_frame=1).from_size("video", size) == (24 * 31,) * 3
    assert (3 * 61 * 80, 3 * 24 * 31) == (14_640, 2_232)


def test_kimi_k25() -> None:
    """A chunk of four frames is one run; an image has at most 16384 patches, and 512 a side."""
    assert KimiK25().from_grid("image", (1, 46, 36)) == (414,)
    assert KimiK25().from_grid("video", (3, 46, 36)) == (414,)
    with pytest.raises(ValueError, match="a chunk of a video has at most 4 frames, not 8"):
        KimiK25().from_grid("video", (8, 46, 36))
    # 142 x 142 patches fit into 16384 no more: 128 / 142 of 2000 pixels are 1802, which is 65 steps of 28.
    assert KimiK25().from_size("image", Size(2000, 2000)) == (65 * 65,)
    # In a video 64 / 142 of them are 901, which is 33 steps; nine frames are three chunks.
    assert KimiK25().from_size("video", Size(2000, 2000, frames=9)) == (33 * 33,) * 3
    # 512 patches of 14 pixels a side: 14336 x 140 is halved, to 256 x 3 steps of 28.
    assert KimiK25().from_size("image", Size(14336, 140)) == (256 * 3,)


def test_markup_around_runs() -> None:
    """Where only sizes are known, the family's own markup moves every later token."""
    assert Qwen2VL().text_around("image", 0, 1, Size(1, 1)) == (1, 1)
    # `<0.2 seconds>` is `<`, `0`, `.`, `2`, ` seconds`, `>`; then `<|vision_start|>`. The video's own pair
    # of markers stays around all of it since transformers 5.
    size = Size(1, 1, frames=64)
    assert Qwen3VL().text_around("video", 0, 32, size) == (8, 1)
    assert Qwen3VL(outer_markers=0).text_around("video", 0, 32, size) == (7, 1)
    # The 12th step starts 12 s into a video of 2 frames a second: one digit more.
    assert Qwen3VL().text_around("video", 12, 32, size) == (8, 1)
    assert Qwen3VL().text_around("video", 31, 32, size) == (8, 2)
    assert KimiVL().text_around("image", 0, 1, Size(1, 1)) == (3, 1)
    assert KimiK25().text_around("video", 0, 1, Size(1, 1, frames=4)) == (10, 1)
    assert LlavaNext().text_around("image", 0, 1, Size(1, 1)) == (0, 0)


def test_markup_of_a_whole_video() -> None:
    """Five frames at 2 a second are at 0.25, 1.25 and 2.0 s: 3 x (7 + 1) tokens and the outer pair."""
    around = [Qwen3VL().text_around("video", run, 3, Size(1, 1, frames=5)) for run in range(3)]
    assert sum(map(sum, around)) == 3 * 8 + 2


def test_times_of_sampled_frames() -> None:
    """Eight frames of 300, 30 a second, are frames 0, 43, 85, 128, 171, 214, 256 and 299.

    Patches are at 0.7, 3.5, 6.4 and 9.2 s, and not at 0.0 s to 0.2 s as eight frames in a row would be.
    """
    size = Size(1, 1, frames=8, fps=30.0, source_frames=300)
    assert [round(frame_time(size, frame) * 30) for frame in range(8)] == [0, 43, 85, 128, 171, 214, 256, 299]
    # `<10.1 seconds>` has one character more: of 600 frames the last patch is at 18.5 s.
    long = size._replace(source_frames=600)
    family = Qwen3VL(outer_markers=0)
    assert [family.text_around("video", run, 4, size)[0] for run in range(4)] == [7, 7, 7, 7]
    assert [family.text_around("video", run, 4, long)[0] for run in range(4)] == [7, 7, 8, 8]


def test_no_line_break_after_the_last_internvl_frame() -> None:
    """Frames are joined by line breaks: `Frame1: <img>...</img>` is 5 tokens before and 1 after."""
    assert InternVL().text_around("video", 0, 2, Size(1, 1, frames=2)) == (5, 2)
    assert InternVL().text_around("video", 1, 2, Size(1, 1, frames=2)) == (5, 1)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_options_that_no_arithmetic_can_use(family: type) -> None:
    """A size of 0 in an option would divide by zero much later; it is refused when it is given."""
    with pytest.raises(ValueError, match="payloads must be at least 1"):
        family(payloads=0)


def test_pinpoints_are_checked() -> None:
    """Canvases that are not made of whole views have no lines to count."""
    with pytest.raises(ValueError, match="not height x width"):
        LlavaNext(pinpoints="336")
    with pytest.raises(ValueError, match="not made of 336-pixel views"):
        LlavaNext(pinpoints="336x400")


def test_published_ids_and_widths() -> None:
    """Placeholder ids and widths are those of the published checkpoints."""
    found = {family.name: family() for family in FAMILIES}
    assert [(found[name].image_id, found[name].video_id) for name in QWEN] == [(151655, 151656)] * 3
    assert (found["qwen3_vl"].feature_width, found["qwen3_vl"].payloads) == (2048, 4)
    assert found["custom"].image_id == -1
