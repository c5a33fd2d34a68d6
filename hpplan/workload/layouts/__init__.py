"""How a sequence is dealt out to CP ranks: the layouts, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.workload.layouts.contiguous import Contiguous
from hpplan.workload.layouts.zigzag import Zigzag

if TYPE_CHECKING:
    from hpplan.workload.layouts.base import Layout

LAYOUTS: tuple[type[Layout], ...] = (Contiguous, Zigzag)
"""Every layout; the first is the default."""


def layout_named(name: str) -> type[Layout]:
    """Return the layout of that name, which the workload's schema has checked."""
    return next(layout for layout in LAYOUTS if layout.name == name)
