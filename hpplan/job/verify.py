"""Proof that an exchange does what its routing table promises: contents, order, positions, gradients."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import torch

from hpplan.job.fingerprints import Fingerprints
from hpplan.job.promise import Promise
from hpplan.routing.inputs import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.exchange.feature_exchange import FeatureExchange
    from hpplan.exchange.received import Received
    from hpplan.routing.routes import RoutingTable

_SHOWN = 10
"""Mismatches of one kind that a rank tells about; it counts the rest."""

_TEXT = -1.0
"""What text tokens hold; no fingerprint has it."""

_TEXT_GRADIENT = 255.0
"""What text tokens give back, which must not reach any row; no row's share is as large."""

_GRADIENT_SALT = 64
"""Added to the salt, so that a gradient is never the row's own contents."""


class Mismatch(NamedTuple):
    """One thing that is not as promised: `code` is one of HP511 to HP515, `rank` is global.

    `item_id` and `row` are -1 where a text token is wrong.
    """

    code: str
    rank: int
    item_id: int
    row: int
    message: str


class Verification(NamedTuple):
    """What one rank found: the first mismatches of each kind, and how many there are in all."""

    mismatches: tuple[Mismatch, ...]
    total: int
    rows: int
    """Rows compared, of all payloads, received ones and gradients."""


def verify(
    exchange: FeatureExchange,
    routes: RoutingTable,
    device: torch.device,
    *,
    backward: bool = True,
    salt: int = 0,
) -> Verification:
    """Exchange fingerprints and compare all that arrives; every rank of the group calls this.

    Rows have the width, dtype and number of payloads of the routes' workload.
    Another `salt` tells what arrives now from what was left in a buffer.
    """
    workload, promise = routes.workload, Promise(exchange.route, routes)
    dtype: torch.dtype = getattr(torch, workload.dtype)
    divisor = exchange.route.last.copies if exchange.replica_grad == "mean" else 1
    prints = Fingerprints(promise.items.values(), workload.payloads, workload.feature_width, dtype, divisor)
    bucket, sequence = promise.bucket(prints), promise.sequence(prints)
    payloads = range(prints.payloads)
    features = [prints.rows(bucket, one, salt).to(device).requires_grad_(backward) for one in payloads]
    received = exchange(features)
    check = _Check(exchange.route.global_rank, prints)
    check.order(promise.hand_over(), received)
    merged: list[torch.Tensor] = []
    shape = (promise.batch_rows, exchange.route.last.local_length, prints.width)
    for payload in payloads:
        check.rows(received, payload, salt)
        embeds = torch.full(shape, _TEXT, dtype=dtype, device=device)
        merged.append(received.merge_into(embeds, payload))
        check.positions(merged[-1], sequence, payload, salt)
    if backward:
        mine, sums = promise.shares(prints, exchange.process_group_order)
        torch.autograd.backward(
            merged,
            [gradients_given(prints, sequence, one, salt, mine).view(shape).to(device) for one in payloads],
        )
        for payload, feature in enumerate(features):
            due = gradients_due(prints, bucket, payload, salt, sums)
            check.gradients(feature.grad, due, bucket, payload)
    compared = sum(len(rows) for rows in received.payloads) + (len(bucket) * len(features) if backward else 0)
    return Verification(tuple(check.found), check.total, compared)


def verify_inputs(
    exchange: FeatureExchange, routes: RoutingTable, device: torch.device, *, salt: int = 0
) -> Verification:
    """Bring fingerprints of inputs and compare what each rank gets; every rank of the group calls this.

    Where the group moves no inputs, there is nothing to compare.
    """
    inputs = routes.rank_inputs(exchange.route.global_rank)
    if inputs is None:
        return Verification((), 0, 0)
    workload, promise = routes.workload, Promise(exchange.route, routes)
    items = [item._replace(rows=rows_of(item)) for item in promise.items.values()]
    dtype: torch.dtype = getattr(torch, workload.input_dtype)
    prints = Fingerprints(items, 1, workload.input_width, dtype, 1)
    read = prints.numbers([(item, 0, rows) for item, rows in inputs.bucket])
    due = prints.numbers([record[:3] for record in inputs.hand_over])
    (brought,) = exchange.bring(prints.rows(read, 0, salt).to(device))
    check = _Check(exchange.route.global_rank, prints)
    check.inputs(brought, due, salt)
    return Verification(tuple(check.found), check.total, len(due))


def _sequence(prints: Fingerprints, numbers: torch.Tensor, payload: int, salt: int) -> torch.Tensor:
    """Return fingerprints at the numbered tokens, `[tokens, width]`."""
    rows = prints.rows(numbers.clamp(min=0), payload, salt)
    rows[numbers < 0] = _TEXT
    return rows


def gradients_given(
    prints: Fingerprints, sequence: torch.Tensor, payload: int, salt: int, shares: torch.Tensor
) -> torch.Tensor:
    """Return what a rank gives back for the numbered tokens of its sequence, `[tokens, width]`."""
    given = torch.full((len(sequence), prints.width), _TEXT_GRADIENT, dtype=torch.float64)
    rows = sequence[sequence >= 0]
    given[sequence >= 0] = prints.gradients(rows, payload, salt + _GRADIENT_SALT, shares[rows])
    return given.to(prints.dtype)


def gradients_due(
    prints: Fingerprints, bucket: torch.Tensor, payload: int, salt: int, sums: torch.Tensor
) -> torch.Tensor:
    """Return what a producer gets back for the numbered rows of its bucket, `[rows, width]`."""
    summed = prints.gradients(bucket, payload, salt + _GRADIENT_SALT, sums[bucket])
    return summed.div_(prints.divisor).to(prints.dtype)


class _Check:
    """Compares, and keeps what differs."""

    def __init__(self, rank: int, prints: Fingerprints) -> None:
        self.rank = rank
        self.prints = prints
        self.found: list[Mismatch] = []
        self.total = 0

    def order(self, due: list[tuple[int, int, int]], received: Received) -> None:
        given = [tuple(record[:3]) for record in received.records()]
        wrong = [pair for pair in zip_longest(due, given) if pair[0] != pair[1]]
        self.total += len(wrong)
        for wanted, got in wrong[:_SHOWN]:
            item, row = (wanted or got)[:2]
            self._report("HP512", item, row, f"was handed {_record(got)} where {_record(wanted)} is due")

    def rows(self, received: Received, payload: int, salt: int) -> None:
        records = received.records(payload)
        if not records:
            return
        numbers = self.prints.numbers([record[:3] for record in records])
        found = torch.cat([record.rows.detach() for record in records]).cpu()
        for place in self._differing(found, self.prints.rows(numbers, payload, salt)):
            item, row = self.prints.name(int(numbers[place]))
            held = self.prints.read(found[place], salt)
            self._report(
                "HP511",
                item,
                row,
                f"received item {item} row {row}{self._of(payload)} wrong: it holds {held}",
            )

    def positions(self, merged: torch.Tensor, numbers: torch.Tensor, payload: int, salt: int) -> None:
        found = merged.detach().view(-1, self.prints.width).cpu()
        for place in self._differing(found, _sequence(self.prints, numbers, payload, salt)):
            number = int(numbers[place])
            item, row = self.prints.name(number) if number >= 0 else (-1, -1)
            wanted = f"item {item} row {row}" if number >= 0 else "text"
            held = "text" if bool((found[place] == _TEXT).all()) else self.prints.read(found[place], salt)
            batch, token = divmod(place, merged.shape[1])
            where = f"has local token {token} of batch row {batch}{self._of(payload)} wrong"
            self._report("HP513", item, row, f"{where}: {wanted} is due, and it holds {held}")

    def inputs(self, brought: torch.Tensor, numbers: torch.Tensor, salt: int) -> None:
        found = brought.cpu()
        for place in self._differing(found, self.prints.rows(numbers, 0, salt)):
            item, row = self.prints.name(int(numbers[place]))
            held = self.prints.read(found[place], salt)
            what = f"has input row {place} wrong: item {item} row {row} is due, and it holds {held}"
            self._report("HP515", item, row, what)

    def gradients(
        self, gradient: torch.Tensor | None, due: torch.Tensor, numbers: torch.Tensor, payload: int
    ) -> None:
        found = torch.full_like(due, _TEXT) if gradient is None else gradient.cpu()
        for place in self._differing(found, due):
            item, row = self.prints.name(int(numbers[place]))
            held = "nothing" if not bool(found[place].any()) else f"{found[place][:3].tolist()}…"
            wanted = f"{due[place][:3].tolist()}… is due, and it got {held}"
            self._report(
                "HP514",
                item,
                row,
                f"got the gradient of item {item} row {row}{self._of(payload)} wrong: {wanted}",
            )

    def _differing(self, found: torch.Tensor, due: torch.Tensor) -> Iterator[int]:
        """Yield the first rows that differ, and count them all."""
        if torch.equal(found, due):
            return
        wrong = torch.nonzero((found != due).any(1)).flatten().tolist()
        self.total += len(wrong)
        yield from wrong[:_SHOWN]

    def _report(self, code: str, item: int, row: int, what: str) -> None:
        self.found.append(Mismatch(code, self.rank, item, row, f"rank {self.rank} {what}"))

    def _of(self, payload: int) -> str:
        return f" of payload {payload}" if self.prints.payloads > 1 else ""


def _record(record: tuple[int, ...] | None) -> str:
    return f"item {record[0]} row {record[1]}" if record else "nothing"
