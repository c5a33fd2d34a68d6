"""What a mode says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.routing.mesh import Mesh


@dataclass(frozen=True, slots=True)
class Mode:
    """One way for a group to exchange; the group is always one parent (with cp 1, its TP group)."""

    name: str
    collective: Literal["none", "all_to_all", "all_gather"]
    fits: Callable[[Mesh], bool]
    why: str
    """Why a mesh that fits has this mode, for people."""

    @property
    def reaches_all(self) -> bool:
        """Whether every rank of the group receives every record, whatever it owns."""
        return self.collective == "all_gather"
