"""TP ranks all hold the whole sequence, so each needs every record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.modes.base import Mode

if TYPE_CHECKING:
    from hpplan.routing.mesh import Mesh


def _fits(mesh: Mesh) -> bool:
    return mesh.cp == 1 and mesh.tp > 1 and not mesh.sp


TP_VARIABLE_ALL_GATHER = Mode(
    "tp_variable_all_gather",
    "all_gather",
    _fits,
    "cp is 1 and there is no sp, so every TP rank holds the whole sequence and needs every record",
)
