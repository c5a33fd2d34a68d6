"""Statistics over micro-batches as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.documents.writer import dump_yaml
from hpplan.validation.kinds import key_order_of

if TYPE_CHECKING:
    from hpplan.routing.statistics import Statistics


def render(found: Statistics) -> str:
    """Return the distributions, and the busiest producer of each micro-batch."""
    data = found.to_data()
    return dump_yaml(data, key_order_of(data))
