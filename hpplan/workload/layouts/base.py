"""What a CP layout answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol


class Layout(Protocol):
    """One way to deal a sequence of `length` tokens out to `cp` ranks, evenly.

    Local indices count the tokens of a CP rank in its local order, before TP
    ranks split them.
    """

    name: ClassVar[str]
    inside_documents: ClassVar[bool]
    """Whether each document is dealt out on its own, and so has to divide."""

    def __init__(self, length: int, cp: int, documents: Sequence[int]) -> None:
        """Take a length, and documents, that `multiple` divides."""

    @staticmethod
    def multiple(cp: int) -> int:
        """Return what the length must be a multiple of."""

    def locate(self, token: int) -> tuple[int, int, int]:
        """Return a token's CP rank, its local index, and the end of its run.

        Tokens up to that end are on the same rank at ascending local indices.
        """

    def neighbours(self, token: int, stop: int) -> tuple[int, int, int]:
        """Return how chunks follow each other from `token`, which starts one, up to `stop`.

        (step, count, size): `count` whole chunks of `size` tokens each, whose CP ranks are `step` apart,
        all from the same local index on.
        """

    def held(self, cp_rank: int) -> list[tuple[int, int]]:
        """Return the token ranges `[start, stop)` of a CP rank, in its local order."""
