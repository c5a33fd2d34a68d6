"""All ranks of the cp x tp block send to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.modes.base import Mode

if TYPE_CHECKING:
    from hpplan.routing.mesh import Mesh


def _fits(mesh: Mesh) -> bool:
    return mesh.cp > 1


PARENT_VARIABLE_A2A = Mode(
    "parent_variable_a2a",
    "all_to_all",
    _fits,
    "cp is above 1, so the tokens of an item lie all over the cp x tp block",
)
