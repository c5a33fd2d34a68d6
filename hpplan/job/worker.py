"""One rank of `hpplan exec`: meet, verify, measure, and end together with all others."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.diagnostics import Place
from hpplan.errors import (
    INTERRUPTED_STATUS,
    ExecutionBroken,
    HpplanError,
    InvalidInput,
    UnusableRequest,
    broken_package,
)
from hpplan.exchange import NO_NUMPY, NO_TORCH
from hpplan.job.termination import Terminated, Termination
from hpplan.routing.mesh import check_world_size
from hpplan.watch.deadman import end_orphan
from hpplan.watch.majority import odd_one

if TYPE_CHECKING:
    import torch

    from hpplan.job.session import Backend, Session
    from hpplan.job.settings import Settings
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import RoutingTable
    from hpplan.watch.faults import Fault
    from hpplan.watch.launched import Job


_SHOWN = len("sha256:") + 12
"""Characters of a digest that a message shows."""

_OPTIONS = {"iterations": "iters"}
"""Options that are not called like their setting."""

_LAST_RESORT = 5
"""Seconds for the interpreter to end after a bug."""


class Outcome(NamedTuple):
    """How a rank's run ended. Rank 0 has a report of all ranks where it went well."""

    status: int
    report: dict[str, Any] | None = None
    message: str | None = None
    """What this rank tells people; one rank speaks for all."""
    error: HpplanError | None = None
    """What this rank itself could not do, to be shown in full."""
    whole: bool = True
    """Whether the process can end by itself; after a broken collective torch's threads may hold it."""


class WrongWorldSize(InvalidInput):
    """The job has not the size of the mesh: nothing is wrong with either by itself (exit status 2)."""

    exit_status = UnusableRequest.exit_status


class Task(NamedTuple):
    """What a rank is to do."""

    routes: RoutingTable | None = None
    """None where links are calibrated."""
    links: Cluster | None = None
    """What times are predicted from."""


class Callbacks(NamedTuple):
    """What a rank calls to read and to show.

    `load` reads the routes and may raise; `spell` renders what it raised for
    rank 0 to show; `publish` takes the report, or the links, on rank 0 and may
    raise too, in time for the other ranks to end with the same status.
    """

    load: Callable[[], Task]
    spell: Callable[[HpplanError], str]
    progress: Callable[[int, int], None]
    publish: Callable[[dict[str, Any]], None]


class Prepared(NamedTuple):
    """What a rank needs before it meets the others."""

    task: Task
    backend: Backend


def require_torch() -> None:
    """Raise UnusableRequest, with what to install, where there is no torch."""
    # Where the current folder is gone, this raises; a library of torch's would end the process.
    os.getcwd()  # noqa: PTH109 - of no use
    if find_spec("torch") is None:
        raise UnusableRequest(f"exec needs {NO_TORCH}")


def _import_torch() -> str | None:
    """Import torch; return what is wrong with one that is installed and does not work."""
    # What torch logs about lost sockets drowns the one message; it reads this when it is imported.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    # torch warns on every rank where there is no NumPy; nothing here needs it.
    warnings.filterwarnings("ignore", message=NO_NUMPY)
    try:
        from torch import distributed

        reason = None if distributed.is_available() else "the torch that is installed has no distributed"
    except Exception as error:  # noqa: BLE001 - a library that lacks another raises what it likes
        reason = broken_package("torch", error)
    return reason and f"exec needs PyTorch, and {reason}"


def run_worker(job: Job, settings: Settings, callbacks: Callbacks) -> Outcome:
    """Run this rank's part of the job, and end together with the other ranks.

    Raises UnusableRequest where torch is missing; all else is in the outcome.
    """
    require_torch()
    broken = _import_torch()
    if broken is not None:
        message = broken if job.local_rank == 0 else None
        return Outcome(UnusableRequest.exit_status, message=message, whole=False)
    with Termination() as termination:
        try:
            worker = _Worker(job, settings, termination)
        except ExecutionBroken as error:
            lost = str(error)
        except Terminated:
            lost = "" if job.stopped_by_launcher else f"rank {job.rank} was stopped (SIGTERM)"
            lost = lost and f"{lost} before it had met the others"
        except KeyboardInterrupt:
            return Outcome(
                INTERRUPTED_STATUS, message=f"rank {job.rank} was interrupted (SIGINT)", whole=False
            )
        else:
            return worker.run(callbacks)
        if job.lost_its_launcher:
            end_orphan(job)
        # Ranks that have not met cannot agree on who speaks: one of each host does, and the
        # rank that speaks for those that have met, and find the store of no use.
        speaks = job.local_rank == 0 or job.rank == job.speaker
        message = lost if speaks else None
        return Outcome(ExecutionBroken.exit_status, message=message or None, whole=False)


class _Worker:
    """The run of one rank, from the rendezvous to its outcome."""

    def __init__(self, job: Job, settings: Settings, termination: Termination) -> None:
        from hpplan.job.session import Session

        self.settings = settings
        self.session: Session = Session(job, settings.timeout)
        termination.ledger = self.session.ledger

    def run(self, callbacks: Callbacks) -> Outcome:
        from hpplan.job.session import cannot_go_on
        from hpplan.watch.faults import PeersFailed

        ledger, trouble = self.session.ledger, None
        try:
            prepared = self._prepare(callbacks.load)
            trouble = prepared if isinstance(prepared, HpplanError) else None
            self._meet(prepared, callbacks.spell)
            assert isinstance(prepared, Prepared)
            report = self._exchange(prepared, callbacks)
            # From here on SIGTERM must not disturb: a launcher that sees the first rank end may send it.
            ledger.breaking = True
        except PeersFailed as failure:
            fault = failure.fault
        except HpplanError as error:
            trouble = error
            reason, status = f"rank {ledger.rank}: {error}", error.exit_status
            fault = _told(lambda: ledger.declare(reason, status, ledger.rank))
        except Terminated:
            fault = self._stopped()
        except KeyboardInterrupt:
            reason = f"rank {ledger.rank} was interrupted (SIGINT)"
            fault = _told(lambda: ledger.declare(reason, INTERRUPTED_STATUS))
        except Exception as error:
            fault = _told(partial(ledger.declare_failure, error))
            if not cannot_go_on(error):
                self.session.deadman.take_the_last_word()
                self.session.leave(broken=True)
                # Threads of a broken process group can hold up the interpreter on its way out.
                signal.alarm(_LAST_RESORT)
                raise
        else:
            whole = self.session.leave()
            told = report if ledger.rank == 0 else None
            return Outcome(int(report["verified"] is False), told, whole=whole)
        self.session.deadman.take_the_last_word()
        self.session.leave(broken=True)
        if self.session.job.lost_its_launcher:
            end_orphan(self.session.job)
        if fault.speaker != ledger.rank:
            return Outcome(fault.status, whole=False)
        return Outcome(fault.status, message=fault.reason, error=trouble, whole=False)

    def _stopped(self) -> Fault:
        """Find out why somebody stops this rank: the launcher because of a peer, as a rule."""
        from hpplan.watch.faults import Fault, PeersFailed

        ledger = self.session.ledger
        if self.session.job.stopped_by_launcher:
            return Fault("", -1)
        ledger.stopped = True
        try:
            ledger.break_off("running")
        except PeersFailed as failure:
            return failure.fault

    def _prepare(self, load: Callable[[], Task]) -> Prepared | HpplanError:
        """Do what can go wrong on this rank alone; return what went wrong, for all to hear of it."""
        from hpplan.job.session import choose_backend

        try:
            task = load()
            if task.routes is not None:
                check_size(task.routes, self.session.job.world_size)
                if self.settings.dtype is not None:
                    workload = replace(task.routes.workload, dtype=self.settings.dtype)
                    task = task._replace(routes=replace(task.routes, workload=workload))
            local_rank = self.session.job.local_rank
            backend = choose_backend(self.settings.backend, self.settings.device, local_rank)
            return Prepared(task, backend)
        except HpplanError as error:
            return error

    def _meet(self, prepared: Prepared | HpplanError, spell: Callable[[HpplanError], str]) -> None:
        if isinstance(prepared, HpplanError):
            self.session.meet({"status": prepared.exit_status, "trouble": spell(prepared)}, find_fault)
        else:
            how = {
                **asdict(self.settings),
                "backend": prepared.backend.name,
                "device": prepared.backend.device_type,
            }
            routes = prepared.task.routes
            digest = None if routes is None else routes.digest
            self.session.meet({"digest": digest, "settings": how}, find_fault)

    def _exchange(self, prepared: Prepared, callbacks: Callbacks) -> dict[str, Any]:
        from hpplan.job.execution import execute
        from hpplan.job.execution_report import execution_report
        from hpplan.watch.ledger import PULSE

        ledger = self.session.ledger
        device = self.session.start(prepared.backend)

        routes, links = prepared.task
        if routes is None:
            return self._calibrate(device, callbacks)
        result = execute(self.session, routes, self.settings, device, callbacks.progress)
        ledger.set(f"result/{ledger.rank}", json.dumps(result))
        if ledger.rank:
            ledger.wait_for(["end"], "waiting for the others to finish", pulse=PULSE)
            return {"verified": json.loads(ledger.read("end") or "null")}
        results = [json.loads(text) for text in ledger.collect("result", "finish")]
        report = execution_report(routes, self.settings, prepared.backend, results, links)
        callbacks.publish(report)
        ledger.set("end", json.dumps(report["verified"]))
        return report

    def _calibrate(self, device: torch.device, callbacks: Callbacks) -> dict[str, Any]:
        """Measure the links; rank 0 publishes them, while the others wait."""
        from hpplan.job.calibration import calibrate
        from hpplan.watch.ledger import PULSE

        ledger = self.session.ledger
        links = calibrate(self.session, self.settings, device, callbacks.progress)
        if ledger.rank:
            ledger.wait_for(["end"], "waiting for the others to finish", pulse=PULSE)
        else:
            callbacks.publish(links)
            ledger.set("end", "null")
        return {"verified": None, "mismatch_count": 0}


def _told(tell: Callable[[], Fault]) -> Fault:
    """Tell all ranks why this one ends, as far as they can still be told."""
    from hpplan.watch.faults import PeersFailed

    try:
        return tell()
    except PeersFailed as failure:
        return failure.fault


def check_size(routes: RoutingTable, world_size: int) -> None:
    """Raise WrongWorldSize where the job has not the size of the mesh."""
    problems = list(check_world_size(routes.mesh, world_size, Place(routes.workload.place.document)))
    if problems:
        raise WrongWorldSize(problems)


def find_fault(notes: list[dict[str, Any]]) -> Fault | None:
    """Return why ranks that wrote these notes, by rank, cannot run together; None where they can."""
    from hpplan.watch.faults import Fault

    for rank, note in enumerate(notes):
        if "trouble" in note:
            who = f"rank {rank} on {note['host']}: " if rank else ""
            return Fault(who + note["trouble"], 0, note["status"])

    def differing(values: list[Any]) -> tuple[str, int, Any, Any] | None:
        found = odd_one(values)
        if found is None:
            return None
        odd, usual = found
        return f"rank {odd} on {notes[odd]['host']}", usual, values[odd], values[usual]

    if found := differing([note["version"] for note in notes]):
        who, usual, theirs, ours = found
        return Fault(f"{who} runs hpplan {theirs}, and rank {usual} runs {ours}", 0)
    # Before the digests: an option says more, and --dtype changes the digest too.
    for name in notes[0]["settings"]:
        if found := differing([note["settings"][name] for note in notes]):
            who, usual, *values = found
            theirs, ours = (_spelled(name, value) for value in values)
            return Fault(f"{who} was started {theirs}, and rank {usual} {ours}", 0)
    if found := differing([note["digest"] for note in notes]):
        who, usual, theirs, ours = found
        digests = f"{theirs[:_SHOWN]}… and {ours[:_SHOWN]}…"
        return Fault(f"{who} has other routes than rank {usual}: their digests are {digests}", 0)
    return None


def _spelled(name: str, value: object) -> str:
    """Return a setting in words of the command line."""
    if name == "calibrate":
        return f"{'with' if value else 'without'} --calibrate"
    if isinstance(value, bool):
        return f"{'without' if value else 'with'} --no-{name}"
    option = f"--{_OPTIONS.get(name, name)}"
    return f"without {option}" if value is None else f"with {option} {value}"
