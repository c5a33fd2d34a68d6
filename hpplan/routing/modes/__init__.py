"""How a group exchanges: the modes, one file each, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.modes.local import LOCAL
from hpplan.routing.modes.parent_variable_a2a import PARENT_VARIABLE_A2A
from hpplan.routing.modes.tp_variable_a2a import TP_VARIABLE_A2A
from hpplan.routing.modes.tp_variable_all_gather import TP_VARIABLE_ALL_GATHER

if TYPE_CHECKING:
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.modes.base import Mode

MODES: tuple[Mode, ...] = (PARENT_VARIABLE_A2A, LOCAL, TP_VARIABLE_A2A, TP_VARIABLE_ALL_GATHER)
"""Every mode. Exactly one of them fits a mesh."""


def mode_of(mesh: Mesh) -> Mode:
    """Return the mode of a mesh."""
    return next(mode for mode in MODES if mode.fits(mesh))
