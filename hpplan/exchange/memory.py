"""Fresh memory for rows, in huge pages where the system has them."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORTH_IT = 4 << 20
"""Bytes from which on the first touch of ordinary pages costs more than a mapping of one's own."""


def empty(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return an uninitialized tensor whose first touch is cheap.

    Filling 64 MiB of ordinary fresh pages takes four times as long as filling
    pages that are already there; huge pages take nearly all of that away.
    """
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or size < _WORTH_IT or not hasattr(mmap, "MADV_HUGEPAGE"):
        return torch.empty(tuple(shape), dtype=dtype, device=device)
    # The tensor keeps the mapping alive; it is unmapped with the tensor's storage.
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(pages, dtype=dtype).view(tuple(shape))
