"""Why execution breaks off, and how that is told. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hpplan.errors import ExecutionBroken


@dataclass(frozen=True)
class Fault:
    """Why execution broke off. `speaker` is the rank that tells people about it."""

    reason: str
    speaker: int
    status: int = ExecutionBroken.exit_status


class PeersFailed(ExecutionBroken):
    """Execution broke off on all ranks together, for the reason in `fault`.

    Whoever goes on all the same needs another ExchangeGroup: this one raises
    it again, in each call.
    """

    def __init__(self, fault: Fault) -> None:
        """Keep the fault that all ranks agree on."""
        self.fault = fault
        super().__init__(fault.reason)


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line and without the C++ frames torch adds."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def seconds(value: float) -> timedelta:
    """Return a time span as torch takes it."""
    return timedelta(seconds=value)
