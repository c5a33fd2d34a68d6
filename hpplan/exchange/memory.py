"""Memory for rows, used again once nobody holds what was in it."""

from __future__ import annotations

import math
import mmap
import sys
import threading
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORTH_IT = 1 << 20
"""Bytes below which the allocator hands out pages that were touched before."""

_SLACK = 8
"""Mappings are larger than asked for by one part in so many, as batches are never quite alike."""

_MOST_FREE = 4
"""Mappings kept for later: for rows sent and received, and for gradients of either."""


class Memory:
    """Hands out tensors in mappings of its own, on CPUs; elsewhere the device's allocator does this.

    Touching fresh pages takes longer than the collective that fills them. A
    mapping is used again only when no tensor lives in it any more, however it
    was reached: every storage holds a reference to its mapping, and the
    mapping's reference count tells.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._mappings: list[mmap.mmap] = [mmap.mmap(-1, mmap.PAGESIZE)]
        self._unused = self._holders(0)
        self._mappings.clear()
        self._lock = threading.Lock()

    def empty(self, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Return a contiguous tensor with whatever was there before."""
        size = math.prod(shape) * dtype.itemsize
        if device.type != "cpu" or size < _WORTH_IT:
            return torch.empty(tuple(shape), dtype=dtype, device=device)
        with self._lock:
            mapping = self._free_mapping(size)
        return torch.frombuffer(mapping, dtype=dtype, count=math.prod(shape)).view(tuple(shape))

    def _free_mapping(self, size: int) -> mmap.mmap:
        free = [index for index in range(len(self._mappings)) if self._holders(index) == self._unused]
        fitting = [index for index in free if size <= len(self._mappings[index]) <= 2 * size]
        if fitting:
            return self._mappings[min(fitting, key=lambda index: len(self._mappings[index]))]
        for index in reversed(free[: max(0, len(free) - _MOST_FREE + 1)]):
            del self._mappings[index]
        self._mappings.append(mmap.mmap(-1, size + size // _SLACK, flags=_PRIVATE))
        return self._mappings[-1]

    def _holders(self, index: int) -> int:
        return sys.getrefcount(self._mappings[index])


_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
