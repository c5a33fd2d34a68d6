"""A mode that nobody here wrote: its collective is what counts, not its name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import torch

from hpplan.errors import UnusableRequest
from hpplan.exchange.engine import Engine
from hpplan.exchange.memory import Memory
from hpplan.exchange.packing import Packing
from hpplan.exchange.running import finish
from hpplan.routing import modes
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.modes import Mode
from hpplan.routing.routes import plan_rank, plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from hpplan.exchange.transport import Transport
    from hpplan.routing.modes import Collective
    from hpplan.routing.transfers import Granularity

WORKLOAD = {
    "sequence": {"length": 8},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2}],
}


class _Calls:
    """A transport that writes down which collective it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any collective
        return lambda *_: self.asked.append(name) or ()


def _engine(collective: str, calls: _Calls) -> Engine:
    route = plan_rank(parse_mesh("tp=2"), load_workload(WORKLOAD), 0)
    assert route is not None
    mode = Mode("made_up", cast("Collective", collective), lambda _: True, "for a test")
    packing = Packing(replace(route, mode=mode), (0, 1))
    return Engine(packing, cast("Transport", calls), Memory(), 1)


@pytest.mark.parametrize(
    ("collective", "asked"), [("all_gather", ["broadcast_each"]), ("all_to_all", ["all_to_all"])]
)
def test_the_collective_of_a_mode_runs(collective: str, asked: list[str]) -> None:
    """Where the engine looks at the name, a new mode that gathers runs the all-to-all in silence."""
    calls = _Calls()
    finish(_engine(collective, calls).forward([torch.zeros(2, 1)]))
    assert calls.asked == asked


@pytest.mark.parametrize("granularity", ["record", "row"])
def test_routes_of_an_all_gather_reach_every_rank(
    monkeypatch: pytest.MonkeyPatch, granularity: Granularity
) -> None:
    """Where they end at owners, blocks of a rank differ in size from what the collective brings."""
    monkeypatch.setattr(modes, "MODES", (Mode("made_up", "all_gather", lambda _: True, "for a test"),))
    table = plan_routes(parse_mesh("cp=2,tp=2,sp"), load_workload(WORKLOAD), granularity)
    (parent,) = table.parents
    assert parent.routes.matrix() == [[2] * 4, [0] * 4, [0] * 4, [0] * 4]
    for rank in range(4):
        route = table.rank_route(rank)
        assert route is not None
        assert route.output_splits == (2, 0, 0, 0)
        assert route.positions == ([0, 1] if rank == 0 else [-1, -1])


def test_a_collective_that_nobody_runs_is_refused() -> None:
    """It must not run another one instead."""
    with pytest.raises(UnusableRequest, match="the mode made_up wants the collective 'ring'"):
        _engine("ring", _Calls())
