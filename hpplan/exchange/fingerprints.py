"""Row fingerprints: a different vector for every row of every payload, exact in every dtype in use."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.routing.workload import Item

_VALUES = 128
"""Elements are whole numbers 1 to 128: exact in bfloat16, whose whole numbers are exact up to 256."""

DIGITS = 5
"""Columns that tell 128^5 rows of all payloads apart; further columns repeat them."""

_STRIDE = 37
"""Makes neighbouring columns differ, so that a shift by columns shows as well."""


class Fingerprints:
    """Numbers the rows of a batch, all payloads after each other, and spells numbers as rows."""

    def __init__(self, items: Iterable[Item], payloads: int, width: int, dtype: torch.dtype) -> None:
        """Give the rows of `items` numbers; vectors have `width` columns, at least DIGITS."""
        self.payloads = payloads
        self.width = max(width, DIGITS)
        self.dtype = dtype
        self._first: dict[int, int] = {}
        self._rows = 0
        for item in sorted(items):
            self._first[item.item_id] = self._rows
            self._rows += item.rows
        self._starts = [(first, item) for item, first in self._first.items()]
        self._highest = max(self._first, default=0)

    def numbers(self, runs: Sequence[tuple[int, int, int]]) -> torch.Tensor:
        """Return the numbers of rows (item_id, row_start, row_stop), run after run."""
        spans = [torch.arange(start, stop) + self._first[item] for item, start, stop in runs]
        return torch.cat(spans) if spans else torch.empty(0, dtype=torch.int64)

    def rows(self, numbers: torch.Tensor, payload: int, salt: int) -> torch.Tensor:
        """Return the vectors of numbered rows of one payload. Another salt gives other vectors."""
        numbers = numbers + payload * self._rows
        digits = torch.stack([(numbers // _VALUES**place) % _VALUES for place in range(DIGITS)], 1)
        columns = torch.arange(self.width)
        repeated = digits.to(torch.int16).index_select(1, columns % DIGITS)
        repeated += ((columns * _STRIDE + salt) % _VALUES).to(torch.int16)
        return repeated.bitwise_and_(_VALUES - 1).add_(1).to(self.dtype)

    def name(self, number: int) -> tuple[int, int]:
        """Return the item and the row that a number stands for."""
        first, item = self._starts[bisect_right(self._starts, (number, self._highest)) - 1]
        return item, number - first

    def read(self, row: torch.Tensor, salt: int) -> str:
        """Say what a row is the fingerprint of, for messages."""
        number = 0
        for place in range(DIGITS):
            value = float(row[place])
            if not 1 <= value <= _VALUES or value != int(value):
                return "no row that was sent"
            number += (int(value) - 1 - place * _STRIDE - salt) % _VALUES * _VALUES**place
        payload, number = divmod(number, max(self._rows, 1))
        whole = payload < self.payloads and torch.equal(
            self.rows(torch.tensor([number]), payload, salt)[0], row
        )
        if not whole:
            return "no row that was sent"
        item, at = self.name(number)
        return f"item {item} row {at}" + (f" of payload {payload}" if self.payloads > 1 else "")
