"""From placeholder tokens to the tokens of each image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.routing.families.base import Kind, Runs

Span = tuple[int, int]
"""First token and rows of a run of tokens."""


class Feature(NamedTuple):
    """One image or video of a sample. `what` says where its rows come from: `grid (1, 52, 94)`."""

    kind: Kind
    runs: Runs
    what: str
    path: tuple[str | int, ...]

    @property
    def rows(self) -> int:
        """Feature rows of all runs."""
        return sum(self.runs)


@dataclass(frozen=True)
class Mismatch(Exception):
    """An image whose rows and placeholders differ; `index` is its number among those given.

    `index` is None where placeholders follow the last image. `token` is where
    the placeholders are, None where there are none.
    """

    index: int | None
    rows: int
    placeholders: int
    token: int | None


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


def match(runs: Sequence[Span], features: Sequence[Feature]) -> list[tuple[Span, ...]]:
    """Return the spans of each image: every run of its rows takes that many placeholders.

    Images that stand side by side share a run of placeholders and split it by
    their rows. Raises Mismatch for the first image that does not fit.
    """
    found: list[tuple[Span, ...]] = []
    at = 0
    token, left = runs[0] if runs else (None, 0)
    for index, feature in enumerate(features):
        spans: list[Span] = []
        for rows in feature.runs:
            if token is None or left < rows:
                have = sum(span[1] for span in spans) + left
                raise Mismatch(index, feature.rows, have, spans[0][0] if spans else token)
            if spans and sum(spans[-1]) == token:
                spans[-1] = (spans[-1][0], spans[-1][1] + rows)
            else:
                spans.append((token, rows))
            token += rows
            left -= rows
            if not left:
                at += 1
                token, left = runs[at] if at < len(runs) else (None, 0)
        found.append(tuple(spans))
    if token is not None:
        surplus = left + sum(rows for _, rows in runs[at + 1 :])
        raise Mismatch(None, 0, surplus, token)
    return found


def place_by_sizes(
    features: Sequence[Feature], around: Sequence[Sequence[tuple[int, int]]], text: Sequence[int]
) -> tuple[int, list[tuple[Span, ...]]]:
    """Return the length of a sample of which only sizes are known, and the spans of each image.

    `text` has the text tokens before each image and after the last one.
    `around` has, for each run of each image, the tokens of markup before and
    after it.
    """
    token = 0
    found: list[tuple[Span, ...]] = []
    for feature, markup, words in zip(features, around, text, strict=False):
        token += words
        spans: list[Span] = []
        for rows, (before, after) in zip(feature.runs, markup, strict=True):
            token += before
            if spans and sum(spans[-1]) == token:
                spans[-1] = (spans[-1][0], spans[-1][1] + rows)
            else:
                spans.append((token, rows))
            token += rows + after
        found.append(tuple(spans))
    return token + text[-1], found


def split_text(tokens: int, images: int) -> list[int]:
    """Share text tokens out evenly between images: the first parts take what is left over.

    >>> split_text(11, 2)
    [4, 4, 3]
    """
    size, rest = divmod(tokens, images + 1)
    return [size + (part < rest) for part in range(images + 1)]
