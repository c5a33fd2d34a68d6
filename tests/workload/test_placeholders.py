"""Placeholder tokens to the tokens of each image."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.routing.batch.placeholders import (
    Feature,
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
