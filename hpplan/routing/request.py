"""What callers of the library ask for by name or number, refused where there is no such thing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest
from hpplan.routing.assignment import POLICIES
from hpplan.routing.assignment.base import COSTS
from hpplan.routing.transfers import GRANULARITIES

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_request(
    granularity: object,
    assign: object,
    cost: object,
    load_factor: Any,  # noqa: ANN401 - whatever was passed
) -> None:
    """Raise UnusableRequest for what no routes can be planned with."""
    require_known("granularity", granularity, GRANULARITIES)
    require_known("assign", assign, [policy.name for policy in POLICIES])
    require_known("cost", cost, COSTS)
    if not isinstance(load_factor, int | float) or not 1 <= load_factor < math.inf:
        raise UnusableRequest(f"load_factor is a finite number of at least 1, not {load_factor!r}")


def require_known(name: str, value: object, known: Sequence[str]) -> None:
    """Raise UnusableRequest where an argument is none of the values that there are."""
    if value not in known:
        *others, last = (f'"{one}"' for one in known)
        raise UnusableRequest(f"{name} is {', '.join(others)} or {last}, not {value!r}")
