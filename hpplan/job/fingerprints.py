"""Row fingerprints: a different vector for every row of every payload, exact in every dtype in use.

Gradients have fingerprints of their own, because they add up over a row's
receivers, and the sum may be divided by the number of copies and is rounded
to the dtype. Each receiver takes its own share of the row's fingerprint:
1, -1, 1, … in the order in which the producer adds them up, and -1/2 for the
last of an even number. The sum is the fingerprint or half of it however many
receivers there are, and no partial sum is larger, so that nothing is rounded
away: one element that one receiver has wrong, by its last bit, shows.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.workload.workload import Item

_VALUES = 128
"""Elements are whole numbers 1 to 128: exact in bfloat16, whose whole numbers are exact up to 256."""

_LARGEST_SUM = 127
"""Elements of gradients end here, so that what is one larger is exact as well."""

_STRIDE = 37
"""Makes neighbouring columns differ, so that a shift by columns shows as well."""


class Fingerprints:
    """Numbers the rows of a batch, all payloads after each other, and spells numbers as rows."""

    def __init__(
        self, items: Iterable[Item], payloads: int, width: int, dtype: torch.dtype, divisor: int
    ) -> None:
        """Give the rows of `items` numbers. Sums of gradients are going to be divided by `divisor`.

        Vectors have `width` columns, or more where those cannot tell all rows apart.
        """
        self.payloads = payloads
        self.dtype = dtype
        self.divisor = divisor
        self._first: dict[int, int] = {}
        self._rows = 0
        for item in sorted(items):
            self._first[item.item_id] = self._rows
            self._rows += item.rows
        self._starts = [(first, item) for item, first in self._first.items()]
        self._highest = max(self._first, default=0)
        # What is divided is a multiple of the divisor but for powers of two, so that nothing is rounded.
        odd = divisor // (divisor & -divisor)
        self._unit = odd if 5 * odd <= _LARGEST_SUM else 1
        self._summed_values = (_LARGEST_SUM // self._unit - 1) // 2
        self._digits, self._summed_digits = self._digits_of(_VALUES), self._digits_of(self._summed_values)
        self.width = max(width, self._digits, self._summed_digits)

    def _digits_of(self, values: int) -> int:
        """Return how many columns of so many values tell all rows apart; further columns repeat them."""
        digits = 1
        while values**digits < self._rows * self.payloads:
            digits += 1
        return digits

    @property
    def count(self) -> int:
        """How many numbers there are for the rows of one payload."""
        return self._rows

    def numbers(self, runs: Sequence[tuple[int, int, int]]) -> torch.Tensor:
        """Return the numbers of rows (item_id, row_start, row_stop), run after run."""
        spans = [torch.arange(start, stop) + self._first[item] for item, start, stop in runs]
        return torch.cat(spans) if spans else torch.empty(0, dtype=torch.int64)

    def rows(self, numbers: torch.Tensor, payload: int, salt: int) -> torch.Tensor:
        """Return the vectors of numbered rows of one payload. Another salt gives other vectors."""
        return self._spelled(numbers, payload, salt, _VALUES, self._digits).add_(1).to(self.dtype)

    def gradients(self, numbers: torch.Tensor, payload: int, salt: int, shares: torch.Tensor) -> torch.Tensor:
        """Return shares of what numbered rows of one payload get back, `[rows, width]`, not rounded yet."""
        spelled = self._spelled(numbers, payload, salt, self._summed_values, self._summed_digits)
        # Odd and at least 3: the numbers below a power of two are closer together than those above.
        return (2 * spelled + 3) * shares.to(torch.float64)[:, None] * self._unit

    def _spelled(
        self, numbers: torch.Tensor, payload: int, salt: int, values: int, digits: int
    ) -> torch.Tensor:
        numbers = numbers + payload * self._rows
        spelled = torch.stack([(numbers // values**place) % values for place in range(digits)], 1)
        columns = torch.arange(self.width)
        repeated = spelled.to(torch.int16).index_select(1, columns % digits)
        repeated += ((columns * _STRIDE + salt) % values).to(torch.int16)
        return repeated.remainder_(values)

    def name(self, number: int) -> tuple[int, int]:
        """Return the item and the row that a number stands for."""
        first, item = self._starts[bisect_right(self._starts, (number, self._highest)) - 1]
        return item, number - first

    def read(self, row: torch.Tensor, salt: int) -> str:
        """Say what a row is the fingerprint of, for messages."""
        number = 0
        for place in range(self._digits):
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
