"""Model families: what an image of each becomes, one family a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from hpplan.workload.families.base import Family, Kind
from hpplan.workload.families.custom import Custom
from hpplan.workload.families.internvl import InternVL
from hpplan.workload.families.kimi_k25 import KimiK25
from hpplan.workload.families.kimi_vl import KimiVL
from hpplan.workload.families.llava_next import LlavaNext
from hpplan.workload.families.qwen2_5_vl import Qwen25VL
from hpplan.workload.families.qwen2_vl import Qwen2VL
from hpplan.workload.families.qwen3_vl import Qwen3VL

FAMILIES: tuple[type[Family], ...] = (
    Qwen2VL,
    Qwen25VL,
    Qwen3VL,
    InternVL,
    LlavaNext,
    KimiVL,
    KimiK25,
    Custom,
)
"""Every family, in the order in which `--help` lists them."""


def family_named(name: str) -> type[Family]:
    """Return the family of that name; raise KeyError when there is none."""
    for family in FAMILIES:
        if family.name == name:
            return family
    raise KeyError(name)


@cache
def readers(kind: Kind) -> Mapping[str, tuple[str, ...]]:
    """Return every grid field for images or for videos, and the names of the families that read it."""
    names = dict.fromkeys(
        name for family in FAMILIES for name, field in family.grid_fields.items() if field.kind == kind
    )
    return {name: tuple(family.name for family in FAMILIES if name in family.grid_fields) for name in names}
