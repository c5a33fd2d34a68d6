"""Which image or video is at fault where rows and placeholders do not pair off."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hpplan.workload.feature import Feature, Span


class MismatchError(Exception):
    """Rows and placeholders differ.

    `index` is the number of the image among those given; None where a run of
    placeholders has no image. Where it may as well be a later one, `last` is
    the last that it may be. `placeholders` are those for them, in `runs` runs
    from `token` on; None where there are none.
    """

    def __init__(
        self, index: int | None, placeholders: int, token: int | None, runs: int = 1, last: int | None = None
    ) -> None:
        """Keep the numbers; the message needs the sample's name."""
        super().__init__(index, placeholders, token, runs, last)
        self.index = index
        self.last = index if last is None else last
        self.placeholders = placeholders
        self.runs = runs
        self.token = token if placeholders else None


def left_over(
    runs: Sequence[Span], features: Sequence[Feature], tokens: Sequence[int]
) -> MismatchError | None:
    """Blame the image that is left once all ahead of it and behind it have the runs that they need.

    Where that leaves several, videos of one size as a rule, what stands before
    the first frame of each tells them apart: the same timestamp and markers.
    None where it leaves no image, as where a run is shared.
    """
    ahead = _runs_used([rows for _, rows in runs], [feature.runs for feature in features])
    behind = _runs_used(
        [rows for _, rows in reversed(runs)], [feature.runs[::-1] for feature in reversed(features)]
    )
    candidates: list[tuple[int, int, int]] = []
    """Number, and the first and the end of its runs."""
    for number in range(len(features)):
        start, used = ahead[number], behind[len(features) - 1 - number]
        stop = len(runs) - (used or 0)
        if start is not None and used is not None and start <= stop:
            candidates.append((number, start, stop))
    # One with whole frames, but too few or too many, rather than one that would have frames of another.
    whole = [
        (number, start, stop)
        for number, start, stop in candidates
        if {rows for _, rows in runs[start:stop]} <= {*features[number].runs}
    ] or candidates
    if len(whole) > 1:
        by_mark = _by_first_frames(runs, features, tokens)
        if by_mark is not None:
            return by_mark
    if not whole:
        return None
    (first, start, _), (last, _, stop) = whole[0], whole[-1]
    its_runs, needed = list(runs[start:stop]), features[first].runs
    if first == last and len(needed) == 1 < len(its_runs):
        # An image is one run: whichever of these it is, the others have no image.
        its = next((run for run in its_runs if run[1] == needed[0]), None)
        if its is None:
            return None
        its_runs.remove(its)
        return _error(None, its_runs)
    return _error(first, its_runs, last)


def _error(number: int | None, runs: Sequence[Span], last: int | None = None) -> MismatchError:
    token = runs[0][0] if runs else None
    return MismatchError(number, sum(rows for _, rows in runs), token, len(runs), last)


def _runs_used(rows: Sequence[int], features: Sequence[Sequence[int]]) -> list[int | None]:
    """Return how many whole runs the first 0, 1, 2, … images use; None where that is no whole number."""
    used: list[int | None] = [0]
    at = 0
    left = rows[0] if rows else 0
    for needs in features:
        for needed in needs:
            if left < needed:
                return used + [None] * (len(features) + 1 - len(used))
            left -= needed
            if not left:
                at += 1
                left = rows[at] if at < len(rows) else 0
        used.append(at if at == len(rows) or left == rows[at] else None)
    return used


def _by_first_frames(
    runs: Sequence[Span], features: Sequence[Feature], tokens: Sequence[int]
) -> MismatchError | None:
    """Blame the first image with other runs than it needs, where each begins behind the same tokens."""
    # What ends a frame stands in each gap as well, and not before the first frame of all.
    width = min((start - sum(before) for before, (start, _) in pairwise(runs)), default=1) - 1
    if not runs or not 0 < width <= runs[0][0]:
        return None
    marks = [tuple(tokens[start - width : start]) for start, _ in runs]
    starts = [number for number, mark in enumerate(marks) if mark == marks[0]]
    if not len(starts) == len(features) < len(runs):
        return None  # without timestamps all are alike, and tell nothing
    for number, (start, stop) in enumerate(pairwise([*starts, len(runs)])):
        if tuple(rows for _, rows in runs[start:stop]) != features[number].runs:
            return _error(number, runs[start:stop])
    return None
