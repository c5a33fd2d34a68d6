"""What a launcher told this process: its rank, the size of the job, and where to meet. No torch."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STORE_VARIABLE = "HPPLAN_STORE"
"""Set by `--launch`: the file in which its workers meet."""

LAUNCHER_VARIABLE = "HPPLAN_LAUNCHER"
"""Set by `--launch`: the process that starts the workers."""

AGENT_STORE_VARIABLE = "TORCHELASTIC_USE_AGENT_STORE"
"""Set to True by torchrun where its agent holds the store."""

MEETING_PLACE = "hpplan-launch-"
"""How the name of the folder begins in which the workers of `--launch` meet."""

_ATTEMPT = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")

_NEEDED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Job:
    """This process's place in a job of `world_size` ranks."""

    rank: int
    world_size: int
    local_rank: int
    address: str
    port: int
    store_path: str | None
    """A file shared by all ranks; None where they meet at address and port."""
    agent_holds_store: bool
    """Whether torchrun's agent listens there, rather than rank 0."""
    launcher: int | None
    """The process id of `--launch`, without which its workers end."""
    attempt: str
    """Tells the ranks of one start from those of an earlier one in the same store."""

    @property
    def holds_store(self) -> bool:
        """Whether this process listens for the others."""
        return self.rank == 0 and not self.agent_holds_store and self.store_path is None

    @property
    def store_holder(self) -> str:
        """Who listens for all ranks, for messages; whoever is at a file locks it."""
        if self.store_path is not None:
            return "the rank"
        return "the launcher" if self.agent_holds_store else "rank 0"

    @property
    def speaker(self) -> int:
        """The rank that tells people what ranks cannot agree on before they have met."""
        return speaker_of(range(self.world_size), agent_holds_store=self.agent_holds_store)

    @property
    def stopped_by_launcher(self) -> bool:
        """Whether `--launch` is ending its workers, and says why itself."""
        return self.launcher is not None and os.path.exists(ending_note(self.store_path or ""))  # noqa: PTH110 - for a str

    @property
    def lost_its_launcher(self) -> bool:
        """Whether `--launch` is gone, so that nobody waits for this worker any more."""
        return self.launcher is not None and os.getppid() != self.launcher

    def remove_meeting_place(self) -> None:
        """Remove the folder in which the workers of `--launch` meet, where that cannot do it itself."""
        folder = Path(self.store_path or "").parent
        if not folder.name.startswith(MEETING_PLACE):
            # Somebody set the variables by hand: what else is in that folder is theirs.
            return
        # Under its old name, a worker that still asks the store would make the file again.
        ended = folder.with_name(f"{folder.name}.ended")
        with contextlib.suppress(OSError):
            folder.rename(ended)
            shutil.rmtree(ended)

    @property
    def meeting_point(self) -> str:
        """Where the ranks meet, for messages."""
        return self.store_path or f"{self.address}:{self.port}"


def speaker_of(ranks: Sequence[int], *, agent_holds_store: bool) -> int:
    """Return the rank that tells people what ranks cannot agree on, because the store is of no use to them.

    The second of them where the first may hold the store, and so be what is lost.
    """
    return ranks[0 if agent_holds_store else min(1, len(ranks) - 1)]


def ending_note(store_path: str) -> str:
    """Return the file that `--launch` leaves before it stops its workers."""
    return f"{store_path}.ending"


def job_from(environment: Mapping[str, str]) -> Job | None:
    """Return the job that torchrun, or `--launch`, set up; None outside of one.

    Raises UnusableRequest for a set-up that is not whole or makes no sense.
    """
    if "RANK" not in environment and "WORLD_SIZE" not in environment:
        return None
    store = environment.get(STORE_VARIABLE)
    needed = _NEEDED[:3] if store else _NEEDED
    missing = [name for name in needed if not environment.get(name)]
    if missing:
        raise UnusableRequest(
            f"the environment sets up a job, but not {', '.join(missing)}; start it with torchrun"
        )
    rank, size, local = (_number(environment, name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    if not 0 <= rank < size:
        raise UnusableRequest(f"the environment says RANK={rank} of WORLD_SIZE={size}")
    return Job(
        rank=rank,
        world_size=size,
        local_rank=local,
        address=environment.get("MASTER_ADDR", ""),
        port=0 if store else _number(environment, "MASTER_PORT"),
        store_path=store or None,
        agent_holds_store=environment.get(AGENT_STORE_VARIABLE) == "True",
        launcher=_number(environment, LAUNCHER_VARIABLE) if environment.get(LAUNCHER_VARIABLE) else None,
        attempt="/".join(environment.get(name, "") for name in _ATTEMPT),
    )


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name].strip()
    if not text.isascii() or not text.isdecimal() or len(text) > 9:  # noqa: PLR2004 - more digits than any job has ranks
        raise UnusableRequest(f"the environment says {name}={environment[name]!r}, which is no whole number")
    return int(text)
