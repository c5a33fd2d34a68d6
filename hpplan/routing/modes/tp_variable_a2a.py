"""TP ranks hold slices of the sequence and send to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.modes.base import Mode

if TYPE_CHECKING:
    from hpplan.routing.mesh import Mesh


def _fits(mesh: Mesh) -> bool:
    return mesh.cp == 1 and mesh.tp > 1 and mesh.sp


TP_VARIABLE_A2A = Mode(
    "tp_variable_a2a",
    "all_to_all",
    _fits,
    "cp is 1 and sp splits the sequence, so an item's tokens lie on some of the TP ranks",
)
