"""How a group exchanges: the modes, one row each, in the order in which they are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.routing.mesh import Mesh

Collective = Literal["none", "all_to_all", "all_gather"]
"""What the ranks of a group run together; `none` where a rank is alone."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way for a group to exchange; the group is always one parent."""

    name: str
    collective: Collective
    fits: Callable[[Mesh], bool]
    why: str
    """Why a mesh that fits has this mode, for people."""

    @property
    def reaches_all(self) -> bool:
        """Whether every rank of the group receives every record, whatever it owns."""
        return self.collective == "all_gather"


MODES: tuple[Mode, ...] = (
    Mode(
        "pool_variable_a2a",
        "all_to_all",
        lambda mesh: mesh.pool > 1,
        "replicas of a pool share the encoder work, so rows go to ranks of any of them",
    ),
    Mode(
        "parent_variable_a2a",
        "all_to_all",
        lambda mesh: mesh.pool == 1 and mesh.cp > 1,
        "cp is above 1, so the tokens of an item lie all over the cp x tp block",
    ),
    Mode(
        "local",
        "none",
        lambda mesh: mesh.pool == mesh.cp == mesh.tp == 1,
        "cp and tp are 1, so every rank encodes what it decodes",
    ),
    Mode(
        "tp_variable_a2a",
        "all_to_all",
        lambda mesh: mesh.pool == mesh.cp == 1 and mesh.tp > 1 and mesh.sp,
        "cp is 1 and sp splits the sequence, so an item's tokens lie on some of the TP ranks",
    ),
    Mode(
        "tp_variable_all_gather",
        "all_gather",
        lambda mesh: mesh.pool == mesh.cp == 1 and mesh.tp > 1 and not mesh.sp,
        "cp is 1 and there is no sp, so every TP rank holds the whole sequence and needs every record",
    ),
)
"""Every mode. Exactly one of them fits a mesh."""


def mode_of(mesh: Mesh) -> Mode:
    """Return the mode of a mesh."""
    return next(mode for mode in MODES if mode.fits(mesh))
