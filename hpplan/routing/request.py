"""What callers of the library ask for by name or number, refused where there is no such thing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableArgument, UnusableRequest
from hpplan.routing.assignment import POLICIES
from hpplan.routing.assignment.base import COSTS
from hpplan.routing.transfers import GRANULARITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOWEST, FASTEST = 1e-6, 1e6
"""GB/s; beyond them a time in seconds may be no number any more."""

LONGEST = 1e9
"""Microseconds of latency."""


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


def check_links(
    bandwidth: float | None, latency: float | None = None, node_bandwidth: float | None = None
) -> None:
    """Raise UnusableArgument for GB/s or microseconds that no link has; None stands for no estimate."""
    for argument, speed in (("node_bandwidth", node_bandwidth), ("bandwidth", bandwidth)):
        if speed is not None and not speed > 0:
            raise UnusableArgument(argument, f"{speed} is not a positive number of GB/s.")
        if speed is not None and not SLOWEST <= speed <= FASTEST:
            message = f"{speed} GB/s is no link's; take {SLOWEST:g} to {FASTEST:g}."
            raise UnusableArgument(argument, message)
    if latency is not None and not 0 <= latency <= LONGEST:
        message = f"{latency} is not a number of microseconds from 0 to {LONGEST:g}."
        raise UnusableArgument("latency", message)


def require_known(name: str, value: object, known: Sequence[str]) -> None:
    """Raise UnusableRequest where an argument is none of the values that there are."""
    if value not in known:
        *others, last = (f'"{one}"' for one in known)
        raise UnusableRequest(f"{name} is {', '.join(others)} or {last}, not {value!r}")
