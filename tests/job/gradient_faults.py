"""Every fault that one receiver can make with its gradients, in every dtype, width, world and mode.

    python tests/job/gradient_faults.py

runs all of it, in some minutes; `test_verify.py` runs a part. The ranks live in one process: what
each gives back is taken from its engine, one receiver's rows are broken, and the engines of
the producers add up. A fault that changes what travels and leaves all gradients as they are due
is one that verification would miss.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from itertools import combinations, product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

DTYPES = ("bfloat16", "float16", "float32", "float64")
WIDTHS = (1, 2, 5, 8, 33)
WORLDS = (2, 3, 4, 5, 6, 7, 8, 12, 27, 64)
_MANY = 8
"""Up to so many ranks, all of them are broken, and in larger worlds so many and the last one."""

_WHOLE = 25
"""Sums that are divided by larger odd numbers may lose their last bit."""


class Case(NamedTuple):
    """What is exchanged, and how."""

    mesh: str
    dtype: str
    width: int
    replica_grad: str = "mean"
    granularity: str = "record"


class Found(NamedTuple):
    """How many faults were tried, which of them were missed, and how many good gradients were refused."""

    tried: int
    missed: list[str]
    refused: int


def cases() -> Iterator[Case]:
    """Yield all cases: receivers that hold copies, shares, both, and more than they own."""
    for dtype, width, world in product(DTYPES, WIDTHS, WORLDS):
        for replica_grad in ("mean", "sum"):
            yield Case(f"tp={world}", dtype, width, replica_grad)
            if world % 2 == 0:
                yield Case(f"cp={world // 2},tp=2", dtype, width, replica_grad)
        yield Case(f"cp={world}", dtype, width)
        yield Case(f"tp={world},sp", dtype, width, "mean", "row")


def try_all(case: Case, receivers: int) -> Found:
    """Break one thing after the other, on the first `receivers` ranks and the last one."""
    ranks = _ranks(case)
    refused = sum(not rank.is_right() for rank in ranks)
    tried, missed = 0, []
    for receiver in [*ranks[: min(receivers, len(ranks) - 1)], ranks[-1]]:
        good = receiver.gradients
        odd = receiver.divisor // (receiver.divisor & -receiver.divisor)
        for name, broken in _faults(good, last_bits=odd <= _WHOLE):
            if bool((broken == good).all()):
                continue
            tried += 1
            receiver.give_back(broken, ranks)
            if all(rank.is_right() for rank in ranks if receiver.reaches(rank)):
                missed.append(f"{case}: rank {receiver.number}: {name}")
        receiver.give_back(good, ranks)
    return Found(tried, missed, refused)


def try_some(_: int, some: list[tuple[Case, int]]) -> list[Found]:
    """Try cases, each on so many receivers, in a process of the tests that has torch."""
    return [try_all(*one) for one in some]


def _faults(good: torch.Tensor, *, last_bits: bool) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield a rank's gradients `[rows, columns]` with one thing broken."""
    import torch

    rows, columns = good.shape
    for first, second in combinations(range(rows), 2):
        order = list(range(rows))
        order[first], order[second] = second, first
        yield f"rows {first} and {second} swapped", good[order]
    for shift in range(1, rows):
        yield f"rows shifted by {shift}", good.roll(shift, 0)
    yield "all dropped", torch.zeros_like(good)
    yield "all doubled", good * 2
    for row in range(rows):
        for name, factor in (("dropped", 0), ("doubled", 2), ("negated", -1)):
            broken = good.clone()
            broken[row] *= factor
            yield f"row {row} {name}", broken
        for column in range(columns):
            element = good[row, column]
            values = {"a unit larger": element + 1, "a unit smaller": element - 1}
            if element and last_bits:
                # The last bit of a zero is smaller than anything that a sum can hold.
                for name, end in (("above", torch.inf), ("below", -torch.inf)):
                    values[f"the next {name}"] = torch.nextafter(element, torch.full_like(element, end))
            for name, value in values.items():
                broken = good.clone()
                broken[row, column] = value
                yield f"element {row}, {column} {name}", broken


class _Rank:
    """One rank: what it received, what it gives back for that, and what it is due itself."""

    def __init__(self, case: Case, routes: Any, number: int) -> None:  # noqa: ANN401 - torch stays out of the tests' own process
        import torch

        from hpplan.exchange.engine import Engine
        from hpplan.exchange.memory import Memory
        from hpplan.exchange.packing import Packing
        from hpplan.exchange.received import Received
        from hpplan.job.fingerprints import Fingerprints
        from hpplan.job.promise import Promise
        from hpplan.job.verify import gradients_due, gradients_given

        self.number = number
        route, dtype = routes.rank_route(number), getattr(torch, case.dtype)
        order = tuple(range(len(route.group_ranks)))
        promise = Promise(route, routes)
        divisor = route.copies if case.replica_grad == "mean" else 1
        prints = Fingerprints(promise.items.values(), 1, case.width, dtype, divisor)
        mine, sums = promise.shares(prints, order)
        self._packing = Packing(route, order)
        self.divisor = divisor
        self._engine = Engine(self._packing, self, Memory(), divisor)  # type: ignore[arg-type]
        sequence = promise.sequence(prints)
        given = gradients_given(prints, sequence, 0, 0, mine)
        rows = torch.zeros(self._packing.received_rows, prints.width, dtype=dtype, requires_grad=True)
        group = SimpleNamespace(memory=Memory(), ledger=SimpleNamespace(telling=nullcontext))
        received = Received(self._packing, [rows], group)  # type: ignore[arg-type]
        shape = (promise.batch_rows, route.local_length, prints.width)
        received.merge_into(torch.zeros(shape, dtype=dtype)).backward(given.view(shape))
        assert rows.grad is not None
        self.gradients = rows.grad
        self._now = rows.grad
        self._due = gradients_due(prints, promise.bucket(prints), 0, 0, sums)
        self._arrived: dict[int, torch.Tensor] = {}
        self._sent: torch.Tensor | None = None

    def all_to_all(self, received: torch.Tensor, sent: torch.Tensor, *_: Any) -> Iterator[None]:  # noqa: ANN401 - as of a transport
        """Take what this rank sends, and hand over what others sent it before."""
        import torch

        self._sent = sent.clone()
        if len(self._arrived) == len(self._packing.order):
            torch.cat([self._arrived[rank] for rank in sorted(self._arrived)], out=received)
        return iter(())

    def reaches(self, rank: _Rank) -> bool:
        """Whether this rank gives anything back to another, or to itself."""
        return bool(self._packing.route.output_splits[rank.number])

    def give_back(self, gradients: torch.Tensor, ranks: list[_Rank]) -> None:
        """Send gradients back to where the rows came from."""
        self._now = gradients
        self._engine.backward([gradients])
        assert self._sent is not None
        blocks = self._sent.split(list(self._packing.receive_splits))
        for rank, block in zip(ranks, blocks, strict=True):
            rank._arrived[self.number] = block

    def is_right(self) -> bool:
        """Whether the producer gets back what it is due."""
        return bool((self._engine.backward([self._now])[0] == self._due).all())


def _ranks(case: Case) -> list[_Rank]:
    from hpplan.diagnostics import Place
    from hpplan.routing.mesh import parse_mesh
    from hpplan.routing.routes import plan_routes
    from hpplan.workload.workload import load_workload

    mesh = parse_mesh(case.mesh)
    length = 2 * mesh.world_size
    items = [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": length // 2 - 1, "output_rows": 2},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 0, "output_rows": 1},
        {"item_id": 2, "batch_index": 1, "decoder_token_start": 1, "output_rows": 3},
    ]
    sequence = {"length": length, "cp_layout": "contiguous"}
    data = {"feature_width": case.width, "dtype": case.dtype, "sequence": sequence, "items": items}
    workload = load_workload(data, Place("workload"))
    routes = plan_routes(mesh, workload, "row" if case.granularity == "row" else "record")
    ranks = [_Rank(case, routes, number) for number in range(mesh.world_size)]
    for rank in ranks:
        rank.give_back(rank.gradients, ranks)
    return ranks


def main() -> int:
    """Try everything, and say what was missed."""
    import torch

    torch.set_num_threads(1)
    tried, wrong = 0, 0
    for case in cases():
        found = try_all(case, _MANY)
        tried += found.tried
        wrong += found.refused + len(found.missed)
        if found.refused:
            sys.stdout.write(f"{case}: {found.refused} ranks refuse what is right\n")
        for text in found.missed:
            sys.stdout.write(f"missed: {text}\n")
    sys.stdout.write(f"{tried} faults tried, {wrong} verdicts wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
