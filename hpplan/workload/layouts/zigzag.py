"""CP rank c holds chunks c and 2C-1-c, which evens out the work of causal attention."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar


class Zigzag:
    """Each document is cut into 2C chunks; rank c holds chunk c, then chunk 2C-1-c, document by document.

    >>> Zigzag(32, 2, (8, 24)).held(1)
    [(2, 4), (4, 6), (14, 20), (20, 26)]
    """

    name: ClassVar[str] = "zigzag"
    inside_documents: ClassVar[bool] = True

    def __init__(self, length: int, cp: int, documents: Sequence[int]) -> None:
        """Cut each document, or the whole sequence where there are none; empty ones are skipped."""
        self._cp = cp
        self._lengths = [document for document in documents if document] or [length]
        self._starts = list(accumulate(self._lengths, initial=0))[:-1]

    @staticmethod
    def multiple(cp: int) -> int:
        """Two chunks a rank."""
        return 2 * cp

    def locate(self, token: int) -> tuple[int, int, int]:
        """Return a token's CP rank, its local index, and the end of its run."""
        document = bisect_right(self._starts, token) - 1
        start = self._starts[document]
        size = self._lengths[document] // (2 * self._cp)
        chunk, local = divmod(token - start, size)
        end = start + (chunk + 1) * size
        local += start // self._cp
        if chunk < self._cp:
            return chunk, local, end
        return 2 * self._cp - 1 - chunk, local + size, end

    def neighbours(self, token: int, stop: int) -> tuple[int, int, int]:
        """Return step, count and size of the whole chunks from `token` to `stop`; ranks rise, then fall."""
        document = bisect_right(self._starts, token) - 1
        size = self._lengths[document] // (2 * self._cp)
        chunk = (token - self._starts[document]) // size
        step, last = (1, self._cp) if chunk < self._cp else (-1, 2 * self._cp)
        return step, min((stop - token) // size, last - chunk), size

    def held(self, cp_rank: int) -> list[tuple[int, int]]:
        """Return two chunks of each document."""
        ranges: list[tuple[int, int]] = []
        for start, length in zip(self._starts, self._lengths, strict=True):
            size = length // (2 * self._cp)
            head, tail = start + cp_rank * size, start + (2 * self._cp - 1 - cp_rank) * size
            ranges += [(head, head + size), (tail, tail + size)]
        return ranges
