"""Memory for rows, used again once nobody holds what was in it."""

from __future__ import annotations

import math
import mmap
import threading
import weakref
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
    was reached: every storage holds the view of the mapping that it was made
    of, and when a view ends, its mapping is free.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._free: list[mmap.mmap] = []
        self._lock = threading.Lock()

    def empty(self, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Return a contiguous tensor with whatever was there before."""
        size = math.prod(shape) * dtype.itemsize
        if device.type != "cpu" or size < _WORTH_IT:
            return torch.empty(tuple(shape), dtype=dtype, device=device)
        with self._lock:
            mapping = self._free_mapping(size)
        view = memoryview(mapping)
        # It may end at any moment, in any thread, so it must not wait for the lock.
        weakref.finalize(view, self._free.append, mapping).atexit = False
        return torch.frombuffer(view, dtype=dtype, count=math.prod(shape)).view(tuple(shape))

    def _free_mapping(self, size: int) -> mmap.mmap:
        """Take a mapping that is free and fits, or make one."""
        fitting = [one for one in self._free if size <= len(one) <= 2 * size]
        if fitting:
            found = min(fitting, key=len)
            self._free.remove(found)
            return found
        del self._free[: -(_MOST_FREE - 1)]
        return mmap.mmap(-1, size + size // _SLACK, flags=_PRIVATE)


_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
