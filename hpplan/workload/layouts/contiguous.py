"""CP rank c holds the c-th of equal slices of the sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class Contiguous:
    """Slice c of the sequence goes to CP rank c; documents make no difference.

    >>> Contiguous(32, 4, ()).held(1)
    [(8, 16)]
    """

    name: ClassVar[str] = "contiguous"
    inside_documents: ClassVar[bool] = False

    def __init__(self, length: int, cp: int, documents: Sequence[int]) -> None:
        """Cut `length` into `cp` slices."""
        self._slice = length // cp

    @staticmethod
    def multiple(cp: int) -> int:
        """One slice a rank."""
        return cp

    def locate(self, token: int) -> tuple[int, int, int]:
        """Return a token's CP rank, its local index, and the end of its run."""
        cp_rank, local = divmod(token, self._slice)
        return cp_rank, local, (cp_rank + 1) * self._slice

    def neighbours(self, token: int, stop: int) -> tuple[int, int, int]:
        """Return step, count and size of the whole slices from `token` up to `stop`."""
        return 1, (stop - token) // self._slice, self._slice

    def held(self, cp_rank: int) -> list[tuple[int, int]]:
        """Return the one slice of a CP rank."""
        return [(cp_rank * self._slice, (cp_rank + 1) * self._slice)]
