"""Whether rows arrive as they were sent: fingerprints of real rows, said by who encoded them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.exchange.received import Received
    from hpplan.routing.rank_route import RankRoute

_BYTES_AT_ONCE = 1 << 20
"""Of the rows that are being looked at; each takes eight times its bytes meanwhile."""


class Prints(NamedTuple):
    """Fingerprints of consecutive rows of one item, from row `start` on."""

    item_id: int
    start: int
    of_rows: tuple[torch.Tensor, ...]
    """`[rows]` for each payload."""


def prints_sent(route: RankRoute, payloads: Sequence[torch.Tensor]) -> list[Prints]:
    """Return the fingerprints of what a rank sends: its bucket, in order."""
    sizes = [rows for _, rows in route.bucket]
    split = [torch.split(fingerprints(payload), sizes) for payload in payloads]
    bucket = zip(route.bucket, route.bucket_starts, strict=True)
    return [
        Prints(item, start, tuple(one[at] for one in split)) for at, ((item, _), start) in enumerate(bucket)
    ]


def wrong_rows(received: Received, sent: Sequence[Prints]) -> str | None:
    """Return the first received row that is not as it was sent, and how many there are; None without any."""
    first, wrong = "", 0
    for payload in range(len(received.payloads)):
        for item, start, stop, rows in received.records(payload):
            due, found = _due(sent, payload, item, start, stop), fingerprints(rows)
            places = torch.nonzero(due != found).flatten().tolist()
            wrong += len(places)
            if places and not first:
                of_payload = f" of payload {payload}" if len(received.payloads) > 1 else ""
                held = _named(sent, payload, found[places[0]])
                first = f"received item {item} row {start + places[0]}{of_payload} wrong: it holds {held}"
    if not wrong:
        return None
    return first if wrong == 1 else f"{first} ({wrong:,} rows are wrong)"


def fingerprints(rows: torch.Tensor) -> torch.Tensor:
    """Return a number for each row, `[rows]` int64 on the CPU, that depends on every bit of it.

    The bytes times odd numbers drawn once, modulo 2**64: rows that differ in one byte never have the
    same number, others with a chance of about 2**-56.
    """
    held = rows.detach().cpu().contiguous()
    width = held.shape[1] * held.element_size()
    drawn = torch.Generator().manual_seed(width)
    factors = torch.randint(-(2**62), 2**62, (width,), generator=drawn) * 2 + 1
    numbers = torch.empty(len(held), dtype=torch.int64)
    step = max(_BYTES_AT_ONCE // max(width, 1), 1)
    for at in range(0, len(held), step):
        piece = held[at : at + step].view(torch.uint8).to(torch.int64)
        numbers[at : at + step] = (piece * factors).sum(1)
    return numbers


def _due(sent: Sequence[Prints], payload: int, item: int, start: int, stop: int) -> torch.Tensor:
    """Return the fingerprints of an item's rows, from whoever sent which of them."""
    due = torch.zeros(stop - start, dtype=torch.int64)
    for one in sent:
        if one.item_id != item:
            continue
        of_rows = one.of_rows[payload]
        low, high = max(start, one.start), min(stop, one.start + len(of_rows))
        if low < high:
            due[low - start : high - start] = of_rows[low - one.start : high - one.start]
    return due


def _named(sent: Sequence[Prints], payload: int, number: torch.Tensor) -> str:
    """Return which row has a fingerprint."""
    for item, start, of_rows in sent:
        for at in torch.nonzero(of_rows[payload] == number).flatten().tolist():
            return f"item {item} row {start + at}"
    return "what no rank sent"
