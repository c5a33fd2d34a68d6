"""One rank of the benchmark of links: times the routes of `link_routes`, and counts what leaves a rank."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from link_routes import tables

from hpplan.exchange.feature_exchange import FeatureExchange
from hpplan.exchange.group import ExchangeGroup
from hpplan.job.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.exchange.transport import Transport

ITERATIONS = 3


class Counted:
    """Counts the rows that this rank hands to collectives for others, forward."""

    def __init__(self, transport: Transport) -> None:
        """Stand between a transport and who uses it."""
        self._transport = transport
        self._mine = dist.get_rank(transport.process_group)
        self.rows: list[int] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a transport has
        """Hand on what is not counted."""
        return getattr(self._transport, name)

    def all_to_all(
        self,
        received: torch.Tensor,
        sent: torch.Tensor,
        output_splits: Sequence[int],
        input_splits: Sequence[int],
        *more: Any,  # noqa: ANN401 - handed on
    ) -> Iterator[None]:
        """Count, and send."""
        assert len(sent) == sum(input_splits)
        self.rows.append(len(sent) - input_splits[self._mine])
        return self._transport.all_to_all(received, sent, output_splits, input_splits, *more)

    def broadcast_each(self, slots: Sequence[torch.Tensor], *more: Any) -> Iterator[None]:  # noqa: ANN401 - handed on
        """Count what every other rank gets, and send."""
        self.rows.append(len(slots[self._mine]) * (len(slots) - 1))
        return self._transport.broadcast_each(slots, *more)


def gathered(mine: object) -> list[Any]:
    """Return what each rank has."""
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    return found


def main(part: int, rounds: int, path: str) -> None:
    """Run every table, of 1/`part` of its width, in several rounds; rank 0 writes times and bytes.

    What disturbs the machine for a while disturbs one round of each, and not all rounds of one.
    """
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found: dict[str, tuple[list[float], list[float], list[int]]] = {}
    groups: dict[tuple[str, int], ExchangeGroup] = {}
    for _ in range(rounds):
        for name, table in tables(part):
            key = (str(table.mesh), table.mesh.pool)
            if key not in groups:
                groups[key] = ExchangeGroup.from_mesh(table.mesh)
            exchange = FeatureExchange.from_routes(table, groups[key])
            counted: Any = Counted(groups[key].transport)
            exchange._engine.transport = counted
            timings = measure(
                exchange,
                table.workload,
                torch.device("cpu"),
                iterations=ITERATIONS,
                warmup=1,
                backward=True,
                progress=lambda *_: None,
                plain=False,
            )
            told = gathered((timings.forward, timings.backward, counted.rows[0] * table.workload.row_bytes))
            one = found.setdefault(name, ([], [], []))
            for way in (0, 1):
                one[way].extend(max(times) for times in zip(*(rank[way] for rank in told), strict=True))
            one[2].append(sum(rank[2] for rank in told))
    if dist.get_rank() == 0:
        data = {
            name: {"forward": median(forward), "backward": median(backward), "bytes": moved}
            for name, (forward, backward, moved) in found.items()
        }
        Path(path).write_text(json.dumps(data), encoding="utf-8")
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
