"""Statistics over micro-batches as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.documents.writer import dump_yaml
from hpplan.validation.kinds import key_order_of

if TYPE_CHECKING:
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.statistics import Statistics


def render(found: Statistics) -> str:
    """Return the distributions, and the busiest producer of each micro-batch."""
    return _dump(found.to_data())


def render_meshes(found: Meshes) -> str:
    """Return meshes side by side."""
    return _dump(found.to_data())


def _dump(data: dict[str, Any]) -> str:
    return dump_yaml(data, key_order_of(data))
