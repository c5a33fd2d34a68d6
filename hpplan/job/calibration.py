"""`hpplan exec --calibrate`: run exchanges of known bytes, and find the links that explain their times."""

from __future__ import annotations

import os
import socket
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.errors import UnusableRequest
from hpplan.exchange.feature_exchange import FeatureExchange
from hpplan.exchange.group import ExchangeGroup
from hpplan.job.measure import measure
from hpplan.routing.link_fit import Timed, between_nodes, fitted, table_of, within_node

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from hpplan.job.session import Session
    from hpplan.job.settings import Settings
    from hpplan.routing.link_fit import Pattern
    from hpplan.routing.routes import RoutingTable

_FIRST = 1 << 20
"""Bytes of a rank in the first try of a pattern."""

_MOST = 128 << 20
"""Bytes beyond which sizes do not grow, however fast the links are."""


_GROWTH = 8


class _Sizes(NamedTuple):
    """How large exchanges are."""

    seconds: float
    """What the largest takes about."""
    parts: tuple[int, ...]
    """By what its size is divided for the others, so that latency and bandwidth are told apart."""


_WITHIN = _Sizes(0.04, (1, 2, 8))
_BETWEEN = _Sizes(0.3, (1, 2))
"""Shorter ones measure the buffers of a network, and not its links."""


_ROUNDS, _ITERATIONS, _WARMUP = 3, 2, 1
"""Each exchange has its turn several times: what disturbs the machine for a while then disturbs none much."""

_DTYPE = "bfloat16"


def calibrate(
    session: Session, settings: Settings, device: torch.device, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Measure the links of this job's ranks; every rank calls this and returns the same document of links.

    Raises UnusableRequest, on every rank, where there is one rank alone, or where nodes have different
    numbers of ranks.
    """
    world = session.job.world_size
    if world == 1:
        raise UnusableRequest("one rank alone has no links; calibrate with all ranks of the job")
    everyone = ExchangeGroup.from_mesh(f"cp={world}", settings.timeout, session.ledger)
    ranks = _ranks_per_node(everyone)
    nodes = world // ranks
    near, far = within_node(ranks), between_nodes(nodes, ranks) if nodes > 1 else {}
    steps = len(near) * len(_WITHIN.parts) + len(far) * len(_BETWEEN.parts)
    runs = _Runs(session, settings, device, everyone, progress, steps)
    within = runs.timed(f"dp={nodes},cp={ranks}", near, _WITHIN)
    between = runs.timed(f"cp={world}", far, _BETWEEN) if far else []
    runs.finish()
    return fitted(within, between, ranks).to_data()


def _ranks_per_node(everyone: ExchangeGroup) -> int:
    """Return how many ranks a node has, as the launcher says, or the names of hosts."""
    said = os.environ.get("LOCAL_WORLD_SIZE", "")
    told = everyone.gathered((socket.gethostname(), int(said) if said.isdecimal() else 0), "finding nodes")
    hosts = [host for host, _ in told]
    sizes = {size or hosts.count(host) for host, size in told}
    size = min(sizes)
    if len(sizes) > 1 or len(told) % size:
        raise UnusableRequest(f"nodes have different numbers of ranks ({', '.join(map(str, sorted(sizes)))})")
    return size


class _Times(NamedTuple):
    """Seconds of each iteration."""

    forward: list[float]
    backward: list[float]


class _Runs:
    """Runs patterns in growing sizes."""

    def __init__(
        self,
        session: Session,
        settings: Settings,
        device: torch.device,
        everyone: ExchangeGroup,
        progress: Callable[[int, int], None],
        steps: int,
    ) -> None:
        self._session = session
        self._settings = settings
        self._device = device
        self._everyone = everyone
        self._progress = progress
        self._done, self._all = 0, steps * _ROUNDS

    def timed(self, mesh: str, patterns: dict[str, Pattern], sizes: _Sizes) -> list[Timed]:
        """Run each pattern in several sizes; the first says how large they are."""
        group = ExchangeGroup.from_mesh(mesh, self._settings.timeout, self._session.ledger)
        group.transport.watches_devices = True
        size = _FIRST
        first = next(iter(patterns.values()))
        while size < _MOST:
            (seconds,) = self._run(group, table_of(mesh, first, size, _DTYPE), 1).forward
            if seconds >= sizes.seconds / 2:
                break
            growth = min(_GROWTH, sizes.seconds / seconds)
            size = min(_MOST, max(size + 1, int(size * growth)))
        tables = [
            table_of(mesh, one, size // part, _DTYPE) for one in patterns.values() for part in sizes.parts
        ]
        times = [_Times([], []) for _ in tables]
        for _ in range(_ROUNDS):
            for table, taken in zip(tables, times, strict=True):
                found = self._run(group, table, _ITERATIONS)
                taken.forward.extend(found.forward)
                taken.backward.extend(found.backward)
                self._done += 1
                self._progress(min(self._done, self._all - 1), self._all)
        return [
            Timed(table, median(taken.forward), median(taken.backward))
            for table, taken in zip(tables, times, strict=True)
        ]

    def finish(self) -> None:
        """Say that all is done."""
        self._progress(self._all, self._all)

    def _run(self, group: ExchangeGroup, table: RoutingTable, iterations: int) -> _Times:
        """Run a table; return the times of the slowest rank, which are the same on all ranks."""
        timings = measure(
            FeatureExchange.from_routes(table, group),
            table.workload,
            self._device,
            iterations=iterations,
            warmup=_WARMUP,
            backward=True,
            progress=lambda *_: None,
            plain=False,
        )
        told = self._everyone.gathered((timings.forward, timings.backward), "comparing times")
        return _Times(
            *([max(times) for times in zip(*(rank[way] for rank in told), strict=True)] for way in (0, 1))
        )
