"""From placeholder tokens to the tokens of each image."""

from __future__ import annotations

from collections.abc import Sequence

from hpplan.workload.families.base import Family, Kind
from hpplan.workload.feature import Feature, Span
from hpplan.workload.mismatch import MismatchError, left_over


def placeholder_runs(tokens: Sequence[int], placeholder: int) -> list[Span]:
    """Return the maximal runs of a placeholder token.

    >>> placeholder_runs([7, 9, 9, 7, 9], 9)
    [(1, 2), (4, 1)]
    """
    runs: list[Span] = []
    length = len(tokens)
    end = 0
    while True:
        try:
            start = tokens.index(placeholder, end)
        except ValueError:
            return runs
        end = start + 1
        while end < length and tokens[end] == placeholder:
            end += 1
        runs.append((start, end - start))


def groups(family: Family, features: Sequence[Feature]) -> list[tuple[Kind, int, list[Feature]]]:
    """Return (kind, placeholder, features) for each placeholder token of a family.

    Raises ValueError where images and videos have the same one, and there are both.
    """
    if family.image_id == family.video_id:
        if len({feature.kind for feature in features}) > 1:
            raise ValueError(
                f"images and videos of {family.name} have the same placeholder, {family.image_id}, "
                "so their order in the text cannot be told"
            )
        return [("image", family.image_id, list(features))]
    kinds: list[tuple[Kind, int]] = [("image", family.image_id), ("video", family.video_id)]
    return [(kind, token, [feature for feature in features if feature.kind == kind]) for kind, token in kinds]


def match(
    runs: Sequence[Span], features: Sequence[Feature], tokens: Sequence[int] = ()
) -> list[tuple[Span, ...]]:
    """Return the spans of each image: every run of its rows takes that many placeholders.

    Images that stand side by side share a run of placeholders and split it by
    their rows. Raises MismatchError for the image that does not fit; `tokens`,
    all of the sample's, help to tell which that is.
    """
    matched: list[tuple[Span, ...]] = []
    at = 0
    token, left = runs[0] if runs else (0, 0)
    for index, feature in enumerate(features):
        spans: list[Span] = []
        for rows in feature.runs:
            if left < rows:
                error = MismatchError(index, sum(span[1] for span in spans) + left, token)
                raise _mismatch(runs, features, tokens, error)
            _add(spans, token, rows)
            token += rows
            left -= rows
            if not left:
                at += 1
                token, left = runs[at] if at < len(runs) else (0, 0)
        matched.append(tuple(spans))
    if left:
        if matched and sum(matched[-1][-1]) == token:
            # The run goes on behind the last image that took its share of it.
            error = MismatchError(len(features) - 1, features[-1].rows + left, matched[-1][0][0])
        else:
            error = MismatchError(None, left + sum(rows for _, rows in runs[at + 1 :]), token)
        raise _mismatch(runs, features, tokens, error)
    return matched


def _mismatch(
    runs: Sequence[Span], features: Sequence[Feature], tokens: Sequence[int], otherwise: MismatchError
) -> MismatchError:
    """Blame the image that all others leave, else the first whose own run differs, else the one given."""
    error = left_over(runs, features, tokens)
    if error is not None:
        return error
    needed = [(number, rows) for number, feature in enumerate(features) for rows in feature.runs]
    if len(needed) == len(runs):
        for (number, rows), (_, have) in zip(needed, runs, strict=True):
            if rows != have:
                theirs = [run for run, (of, _) in zip(runs, needed, strict=True) if of == number]
                return MismatchError(number, sum(have for _, have in theirs), theirs[0][0], len(theirs))
    return otherwise


def _add(spans: list[Span], token: int, rows: int) -> None:
    """Append a run; one that follows the last without a gap extends it."""
    if spans and sum(spans[-1]) == token:
        spans[-1] = (spans[-1][0], spans[-1][1] + rows)
    else:
        spans.append((token, rows))


def place_by_sizes(
    features: Sequence[Feature], around: Sequence[Sequence[tuple[int, int]]], text: Sequence[int]
) -> tuple[int, list[tuple[Span, ...]]]:
    """Return the length of a sample of which only sizes are known, and the spans of each image.

    `text` has the text tokens before each image and after the last one.
    `around` has, for each run of each image, the tokens of markup before and
    after it.
    """
    token = 0
    placed: list[tuple[Span, ...]] = []
    for feature, markup, words in zip(features, around, text, strict=False):
        token += words
        spans: list[Span] = []
        for rows, (before, after) in zip(feature.runs, markup, strict=True):
            token += before
            _add(spans, token, rows)
            token += rows + after
        placed.append(tuple(spans))
    return token + text[-1], placed


def split_text(tokens: int, images: int) -> list[int]:
    """Share text tokens out evenly between images: the first parts take what is left over.

    >>> split_text(11, 2)
    [4, 4, 3]
    """
    size, rest = divmod(tokens, images + 1)
    return [size + (part < rest) for part in range(images + 1)]
