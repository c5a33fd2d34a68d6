"""What a trainer calls every micro-batch: features in, rows for my tokens out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
import torch.distributed as dist

from hpplan.errors import HpplanError, UnusableRequest
from hpplan.exchange.engine import Engine, exchanged
from hpplan.exchange.group import DEFAULT_TIMEOUT, ExchangeGroup
from hpplan.exchange.packing import Packing
from hpplan.exchange.received import Received
from hpplan.routing.mesh import parse_mesh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hpplan.routing.mesh import Mesh
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RoutingTable

_SHOWN = 8
"""Widths that a message lists."""

ReplicaGrad = Literal["mean", "sum"]


class _Signature(NamedTuple):
    """What all ranks must bring alike, in one kind of call."""

    dtype: str
    widths: tuple[int, ...]
    device: str
    grad_mode: bool


class FeatureExchange:
    """The exchange of one routing table, on this rank.

    Differentiable: a row's gradient is the sum of what its receivers send
    back. Where TP ranks hold copies of the same tokens, `replica_grad="mean"`
    divides that sum by their number and `"sum"` leaves it.

    Every rank of the group calls it the same number of times, forward and
    backward, also a rank without features and a rank that receives nothing.
    Before the first rows travel, the ranks agree that all run the same routes
    and bring the same dtype and widths; when they bring something new, they
    agree again.
    """

    def __init__(
        self, route: RankRoute, digest: str, group: ExchangeGroup, replica_grad: ReplicaGrad = "mean"
    ) -> None:
        """Run `route` in `group`; `digest` is what all ranks must have in common."""
        if replica_grad not in ("mean", "sum"):
            raise UnusableRequest(f'replica_grad is "mean" or "sum", not {replica_grad!r}')
        self.route = route
        self.digest = digest
        self.group = group
        self.replica_grad = replica_grad
        self._needs_grad: dict[_Signature, bool] = {}
        """For each kind of call that was agreed on, whether some rank needs gradients."""
        self._called = False
        self._anchor = torch.zeros((), requires_grad=True)
        divisor = route.copies if replica_grad == "mean" else 1
        packing = Packing(route, _order(route, group.global_ranks))
        self._engine = Engine(packing, group.transport, group.memory, divisor)

    @classmethod
    def from_routes(
        cls,
        routes: RoutingTable,
        group: ExchangeGroup | dist.ProcessGroup | None = None,
        *,
        replica_grad: ReplicaGrad = "mean",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> FeatureExchange:
        """Make the exchange of a routing table; every rank of the parent calls this.

        `group` is an ExchangeGroup, a process group of the parent's ranks, or
        None to make one from the table's mesh. `timeout` is in seconds, and
        counts where the group is made here. Raises UnusableRequest outside a
        job, in one of another size, and on a later pipeline stage.
        """
        made = _group(group, routes.mesh, timeout)
        route = routes.rank_route(dist.get_rank())
        return cls(_first_stage(route), routes.digest, made, replica_grad)

    @classmethod
    def plan(
        cls,
        items: Sequence[Mapping[str, Any]],
        mesh: Mesh | str,
        sequence: Mapping[str, Any],
        group: ExchangeGroup | dist.ProcessGroup | None = None,
        *,
        buckets: Sequence[Sequence[int]] | None = None,
        encoder_cp_size: int = 1,
        granularity: Literal["record", "row"] = "record",
        assign: str = "lpt",
        replica_grad: ReplicaGrad = "mean",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> FeatureExchange:
        """Plan the exchange of one micro-batch from the items at hand.

        `items`, `sequence` and `buckets` are those of a workload document, for
        this rank's replica, and `mesh` may be text as for `--mesh`. Every rank
        of the parent passes the same, and the first call refuses when one did
        not. Hand in a `group` that was made once; making one takes far longer
        than planning. A rank whose items are wrong fails all ranks, and raises
        InvalidInput itself.
        """
        from hpplan.exchange.micro_batch import plan_micro_batch

        mesh = parse_mesh(mesh) if isinstance(mesh, str) else mesh
        made = _group(group, mesh, timeout)
        data: dict[str, Any] = {
            "sequence": dict(sequence),
            "items": list(items),
            "encoder_cp_size": encoder_cp_size,
        }
        if buckets is not None:
            data["buckets"] = [list(bucket) for bucket in buckets]
        try:
            route, digest = plan_micro_batch(data, mesh, dist.get_rank(), granularity, assign)
        except HpplanError as error:
            made.ledger.declare(f"rank {dist.get_rank()}: cannot plan its micro-batch: {error}")
            raise
        return cls(_first_stage(route), digest, made, replica_grad)

    @property
    def bucket(self) -> tuple[tuple[int, int], ...]:
        """(item_id, rows) of the features this rank brings, in order; empty where it brings none."""
        return self.route.bucket

    @property
    def process_group_order(self) -> tuple[int, ...]:
        """The route's group ranks by rank in the process group; the two differ where tp is not innermost."""
        return self._engine.packing.order

    def __call__(self, features: torch.Tensor | Sequence[torch.Tensor]) -> Received:
        """Exchange the rows of my bucket, `[rows, width]` in bucket order, for the rows of my tokens.

        Several payload tensors with the same rows travel in one collective. A
        rank without a bucket passes zero rows of the same width, dtype and
        device. Raises PeersFailed on every rank, naming the rank, when one
        brings something else, or is lost.
        """
        payloads = (features,) if isinstance(features, torch.Tensor) else tuple(features)
        problem = self._problem(payloads)
        if len(self.route.group_ranks) > 1:
            needs_grad = self._agreed(payloads, problem)
        elif problem is not None:
            self.group.ledger.refuse(problem)
        else:
            needs_grad = torch.is_grad_enabled()
        return Received(self._engine.packing, self._run(payloads, needs_grad=needs_grad), self.group)

    def agree_again(self) -> None:
        """Have the next call agree anew; every rank of the group calls this.

        Needed where the ranks cannot tell by themselves that something
        changed: when a frozen encoder is thawed, a rank without features
        does not see it.
        """
        self._needs_grad.clear()

    def _run(self, payloads: Sequence[torch.Tensor], *, needs_grad: bool) -> tuple[torch.Tensor, ...]:
        engine = self._engine
        if len(self.route.group_ranks) == 1 and engine.packing.in_order:
            return tuple(payloads)
        if needs_grad:
            return exchanged(engine, self._anchor, payloads)
        with torch.no_grad():
            return engine.forward(payloads)

    def _problem(self, payloads: Sequence[torch.Tensor]) -> str | None:
        """Return what is wrong with the features of this rank, None where they are right."""
        if not payloads:
            return "no payload tensor was given"
        first, rows = payloads[0], self._engine.packing.bucket_rows
        for number, payload in enumerate(payloads):
            name = "the features" if len(payloads) == 1 else f"payload {number}"
            problem = _difference(name, payload, first, rows)
            if problem is not None:
                return problem
        if first.device.type not in self.group.device_types:
            devices = " or ".join(self.group.device_types)
            return f"the features are on {first.device}, and the process group exchanges on {devices}"
        return None

    def _agreed(self, payloads: Sequence[torch.Tensor], problem: str | None) -> bool:
        """Return whether some rank of the group needs gradients; agree where something is new."""
        ledger, transport = self.group.ledger, self.group.transport
        wants_grad = torch.is_grad_enabled() and any(payload.requires_grad for payload in payloads)
        signature = None
        if problem is None:
            signature = _signature(payloads)
            known = self._needs_grad.get(signature)
            if known is not None and (known or not wants_grad):
                return known
        what = _spelled(signature, wants_grad=wants_grad)
        if self._called:
            # The others may be on their way into the collective already, where they look for these notes.
            if problem is not None:
                ledger.refuse(problem)
            transport.announce(
                f"rank {ledger.rank} brings {what}, which was not agreed, while others bring what was; "
                "call agree_again() on every rank when an encoder is frozen or thawed"
            )
        needs_grad = self._agree(signature, what, problem, wants_grad=wants_grad)
        if signature is not None:
            self._needs_grad[signature] = needs_grad
        self._called = True
        return needs_grad

    def _agree(
        self, signature: _Signature | None, what: str, problem: str | None, *, wants_grad: bool
    ) -> bool:
        note = {
            "digest": self.digest,
            "replica_grad": self.replica_grad,
            "brings": what if signature is None else _spelled(signature, wants_grad=None),
            "grad": wants_grad,
        }
        if problem is not None:
            note["fault"] = problem
        notes = self.group.agree(note, "agreeing on the exchange")
        same = self.group.require_same
        same(notes, "digest", "has other routes than rank {first}: digests {theirs:.19}… and {ours:.19}…")
        same(notes, "replica_grad", "has replica_grad {theirs!r}, and rank {first} {ours!r}")
        same(notes, "brings", "brings {theirs}, and rank {first} {ours}")
        return any(said["grad"] for said in notes)


def _difference(name: str, payload: torch.Tensor, first: torch.Tensor, rows: int) -> str | None:
    shape = list(payload.shape)
    if payload.ndim != 2 or 0 in shape[1:]:  # noqa: PLR2004 - rows, width
        return f"{name} have shape {shape}, and the exchange needs [rows, width]"
    if shape[0] != rows:
        return f"{name} have {shape[0]} rows, and the rank's bucket has {rows}"
    if payload.dtype != first.dtype:
        return f"{name} has dtype {_name(payload.dtype)}, and payload 0 {_name(first.dtype)}"
    if payload.device != first.device:
        return f"{name} is on {payload.device}, and payload 0 on {first.device}"
    return None


def _signature(payloads: Sequence[torch.Tensor]) -> _Signature:
    first = payloads[0]
    widths = tuple(payload.shape[1] for payload in payloads)
    return _Signature(_name(first.dtype), widths, first.device.type, torch.is_grad_enabled())


def _spelled(signature: _Signature | None, *, wants_grad: bool | None) -> str:
    if signature is None:
        return "nothing that can be sent"
    widths = ", ".join(map(str, signature.widths[:_SHOWN])) + (
        ", …" if len(signature.widths) > _SHOWN else ""
    )
    many = f"{len(signature.widths)} payloads of width" if len(signature.widths) > 1 else "width"
    mode = "" if signature.grad_mode else " without grad mode"
    grad = " that require grad" if wants_grad else ""
    return f"{signature.dtype} on {signature.device}, {many} {widths}{mode}{grad}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _group(group: ExchangeGroup | dist.ProcessGroup | None, mesh: Mesh, timeout: float) -> ExchangeGroup:
    if group is None:
        return ExchangeGroup.from_mesh(mesh, timeout)
    return group if isinstance(group, ExchangeGroup) else ExchangeGroup.from_process_group(group, timeout)


def _order(route: RankRoute, global_ranks: Sequence[int]) -> tuple[int, ...]:
    """Return the route's group ranks by rank in the process group, which torch may have sorted."""
    if sorted(global_ranks) != sorted(route.group_ranks):
        raise UnusableRequest(
            f"the process group has ranks {list(global_ranks)}, "
            f"and the routes are for {list(route.group_ranks)}"
        )
    return tuple(route.group_ranks.index(rank) for rank in global_ranks)


def _first_stage(route: RankRoute | None) -> RankRoute:
    if route is None:
        raise UnusableRequest("this rank is on a later pipeline stage, and the first stage alone exchanges")
    return route
