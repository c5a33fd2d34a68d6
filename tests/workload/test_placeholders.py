"""Placeholder tokens to the tokens of each image."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.workload.feature import Feature
from hpplan.workload.placeholders import (
    MismatchError,
    match,
    place_by_sizes,
    placeholder_runs,
    split_text,
)


def image(*runs: int) -> Feature:
    """Return an image with these runs of rows."""
    return Feature("image", 0, runs, "grid", ("image_grid_thw", 0))


def test_runs_are_maximal() -> None:
    """A run ends where another token stands or the text ends; a shorter one would cut an image."""
    assert placeholder_runs([9, 9, 1, 9, 2, 2, 9, 9, 9], 9) == [(0, 2), (3, 1), (6, 3)]
    assert placeholder_runs([1, 2], 9) == []


def test_adjacent_images_are_split_by_their_rows() -> None:
    """Two images without a separator share one run; each gets its own rows of it."""
    assert match([(3, 10)], [image(4), image(6)]) == [((3, 4),), ((7, 6),)]


def test_runs_of_a_video_stay_apart_or_join() -> None:
    """A video keeps its text between frames out of its spans, and has one span where there is none."""
    assert match([(0, 4), (9, 4)], [image(4, 4)]) == [((0, 4), (9, 4))]
    assert match([(5, 8)], [image(4, 4)]) == [((5, 8),)]


@pytest.mark.parametrize(
    ("runs", "features", "index", "placeholders", "token"),
    [
        ([(2, 3)], [image(4)], 0, 3, 2),  # too few
        ([(2, 5)], [image(4)], 0, 5, 2),  # too many
        ([], [image(4)], 0, 0, None),  # none at all
        ([(2, 5), (9, 4)], [image(4), image(4)], 0, 5, 2),  # the first has one too many, not the second
        ([(2, 9)], [image(4), image(6)], 1, 5, 6),  # a shared run that is too short for the second
        ([(2, 4), (9, 7)], [image(4)], None, 7, 9),  # a run without an image
        ([(0, 4), (6, 3)], [image(4, 4)], 0, 7, 0),  # a video whose last frame was cut
        ([(3, 2)], [image(2, 2)], 0, 2, 3),  # a frame too few
        ([(3, 2), (6, 2), (9, 2)], [image(2, 2)], 0, 6, 3),  # a frame too many
        ([(1, 2), (4, 3), (8, 3)], [image(2, 2), image(3, 3)], 0, 2, 1),  # the first video has one too few,
        ([(1, 2), (4, 2), (8, 3)], [image(2, 2), image(3, 3)], 1, 3, 8),  # or the second,
        ([(1, 2), (4, 2), (7, 2), (9, 3), (13, 3)], [image(2, 2), image(3, 3)], 0, 6, 1),  # or one too many
        ([(1, 4), (9, 4)], [image(4), image(6), image(4)], 1, 0, None),  # the one in the middle was lost
    ],
)
def test_the_first_image_that_does_not_fit_is_named(
    runs: list[tuple[int, int]],
    features: list[Feature],
    index: int | None,
    placeholders: int,
    token: int | None,
) -> None:
    """A mismatch names the image at fault, not one that only suffers from it."""
    with pytest.raises(MismatchError) as caught:
        match(runs, features)
    found = caught.value
    assert (found.index, found.placeholders, found.token) == (index, placeholders, token)


def test_several_that_may_be_at_fault() -> None:
    """Of videos of one size the last is blamed, which is as good as any other."""
    with pytest.raises(MismatchError) as caught:
        match([(1, 2), (4, 2), (7, 2)], [image(2, 2), image(2, 2)])
    found = caught.value
    assert (found.index, found.last, found.placeholders, found.runs, found.token) == (0, 1, 6, 3, 1)


@st.composite
def videos_with_a_fault(draw: st.DrawFn) -> tuple[list[int], list[Feature], int]:
    """Draw tokens, the videos they are for, and the video that has other frames than it should."""
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    sizes = [draw(st.integers(1, 3)) for _ in counts]
    broken = draw(st.integers(0, len(counts) - 1))
    written = draw(st.integers(0, 5).filter(lambda count: count != counts[broken]))
    timestamps = draw(st.booleans())
    tokens = [7] * 4
    for number, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        tokens += [1] * draw(st.integers(0, 3))
        for frame in range(written if number == broken else count):
            tokens += [10 + frame if timestamps else 10, 5, *[9] * size, 6]
    return tokens, [image(*[size] * count) for count, size in zip(counts, sizes, strict=True)], broken


@given(case=videos_with_a_fault())
def test_a_video_with_other_frames_than_it_should_have(case: tuple[list[int], list[Feature], int]) -> None:
    """The blame goes to a video that has all its frames, or to a token that is none of a frame."""
    tokens, features, broken = case
    with pytest.raises(MismatchError) as caught:
        match(placeholder_runs(tokens, 9), features, tokens)
    found = caught.value
    if found.index is None:
        # A frame too many of a video of one frame is as good as an image that was not given.
        assert len(features[broken].runs) == 1
    else:
        assert found.index <= broken <= found.last
    assert found.token is None or (tokens[found.token], tokens[found.token - 1]) == (9, 5)


def test_what_stands_before_a_first_frame_tells_videos_of_one_size_apart() -> None:
    """The first of three videos lost a frame, and the last is blamed, as that is where frames run out."""

    def video(frames: int) -> list[int]:
        return [token for frame in range(frames) for token in (10 + frame, 5, 9, 9, 6)]

    for short in range(3):
        tokens = [7, 7, *(token for number in range(3) for token in [*video(2 - (number == short)), 1, 1])]
        with pytest.raises(MismatchError) as caught:
            match(placeholder_runs(tokens, 9), [image(2, 2)] * 3, tokens)
        found = caught.value
        assert (found.index, found.last, found.placeholders, found.runs) == (short, short, 2, 1)
        assert found.token == 4 + 12 * short


def test_text_is_shared_out_evenly() -> None:
    """Text goes before, between and after the images; the first parts take the remainder."""
    assert split_text(11, 2) == [4, 4, 3]
    assert split_text(5, 0) == [5]


def test_sizes_place_images_one_after_the_other() -> None:
    """Text, markup, rows, markup: 10, then 1 + 4 + 1, then 5, then 2 + 3 + 0, then 7."""
    length, spans = place_by_sizes([image(4), image(3)], [[(1, 1)], [(2, 0)]], [10, 5, 7])
    assert spans == [((11, 4),), ((23, 3),)]
    assert length == 10 + 6 + 5 + 5 + 7


@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(1, 5), min_size=1, max_size=3)), max_size=6)
)
def test_every_placeholder_belongs_to_one_row(layout: list[tuple[int, list[int]]]) -> None:
    """Rows and placeholders pair off in order, whatever stands between the images."""
    tokens: list[int] = []
    expected: list[list[int]] = []
    for gap, runs in layout:
        tokens += [1] * gap
        own: list[int] = []
        for rows in runs:
            own += range(len(tokens), len(tokens) + rows)
            tokens += [9] * rows
        expected.append(own)
    found = match(placeholder_runs(tokens, 9), [image(*runs) for _, runs in layout])
    assert [
        [token for start, rows in spans for token in range(start, start + rows)] for spans in found
    ] == expected
