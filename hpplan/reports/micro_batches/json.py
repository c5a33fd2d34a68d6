"""Statistics over micro-batches as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.documents.writer import dump_json

if TYPE_CHECKING:
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.statistics import Statistics


def render(found: Statistics) -> str:
    """Return the distributions, and the busiest producer of each micro-batch."""
    return dump_json(found.to_data())


def render_meshes(found: Meshes) -> str:
    """Return meshes side by side."""
    return dump_json(found.to_data())
