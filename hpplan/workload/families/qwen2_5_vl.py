"""Qwen2.5-VL: the rows of Qwen2-VL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hpplan.workload.families.qwen2_vl import Qwen2VL


@dataclass(frozen=True)
class Qwen25VL(Qwen2VL):
    """Patches, merging, bounds and placeholders are those of Qwen2-VL; time only enters positions."""

    name: ClassVar[str] = "qwen2_5_vl"
    summary: ClassVar[str] = "as qwen2_vl"
