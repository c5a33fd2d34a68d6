"""One rank is its own group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.modes.base import Mode

if TYPE_CHECKING:
    from hpplan.routing.mesh import Mesh


def _fits(mesh: Mesh) -> bool:
    return mesh.cp == 1 and mesh.tp == 1


LOCAL = Mode("local", "none", _fits, "cp and tp are 1, so every rank encodes what it decodes")
