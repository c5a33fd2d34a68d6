"""Exchanges that have begun: what waits for other ranks is a generator, which goes on when it is asked to.

It yields whenever it has issued collectives, and waits for them when it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import torch

from hpplan.exchange.uncompiled import uncompiled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")


class Running(Generic[T]):
    """What a generator makes, which runs at once as far as its first collectives."""

    def __init__(self, steps: Generator[None, None, T]) -> None:
        """Issue the first collectives."""
        self._steps = steps
        self._made: list[T] = []
        self.go_on()

    def go_on(self) -> None:
        """Wait for what was issued, and issue what comes next, if anything does."""
        if self._made:
            return
        with torch.no_grad():
            try:
                next(self._steps)
            except StopIteration as end:
                self._made.append(end.value)

    def finish(self) -> T:
        """Wait for everything; return what was made."""
        while not self._made:
            self.go_on()
        return self._made[0]


def finish(steps: Generator[None, None, T]) -> T:
    """Return what a generator makes once it has waited for everything."""
    return Running(steps).finish()


class Pending(Generic[T]):
    """What has begun and is handed over by `wait`."""

    def __init__(self, hand_over: Callable[[], T]) -> None:
        """Know how to wait for it."""
        self._hand_over = hand_over
        self._handed: list[T] = []

    @uncompiled
    def wait(self) -> T:
        """Return it once it is here; called again, return the same.

        Raises PeersFailed where it cannot come, on every rank of the group.
        """
        if not self._handed:
            self._handed.append(self._hand_over())
        return self._handed[0]
