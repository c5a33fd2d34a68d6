"""What a trainer calls every micro-batch: features in, rows for my tokens out."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
import torch.distributed as dist

from hpplan.errors import HpplanError, UnusableRequest
from hpplan.exchange.engine import Engine, exchanged
from hpplan.exchange.faults import PeersFailed
from hpplan.exchange.group import DEFAULT_TIMEOUT, ExchangeGroup
from hpplan.exchange.lockstep import Kind, Step, digest_prefix
from hpplan.exchange.packing import Packing
from hpplan.exchange.payloads import Signature, difference, news, signature_of, spelled, tensors
from hpplan.exchange.received import Received
from hpplan.routing.mesh import parse_mesh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hpplan.routing.mesh import Mesh
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RoutingTable

ReplicaGrad = Literal["mean", "sum"]


class _Agreement(NamedTuple):
    """What the ranks found out when they agreed."""

    needs_grad: bool
    """Whether some rank needs gradients."""
    brings: bytes
    """Stands for what they bring, and for this, in each step."""


class FeatureExchange:
    """The exchange of one routing table, on this rank.

    Differentiable: a row's gradient is the sum of what its receivers send
    back. Where TP ranks hold copies of the same tokens, `replica_grad="mean"`
    divides that sum by their number and `"sum"` leaves it.

    Every rank of the group calls it the same number of times, forward and
    backward, also a rank without features and a rank that receives nothing.
    Before the first rows travel, the ranks agree that all run the same routes
    and bring the same dtype and widths; when they bring something new, they
    agree again. Before any rows or gradients travel, they make sure that all
    are about to send those of the same call, and raise PeersFailed where one
    is not: it skipped a backward, or runs calls or backwards in another order.
    A rank whose loss leaves out what it received skips a backward, unless it
    trains on `received.tie(loss)`.

    Calls are told apart by their number and their routes. Where one exchange
    serves many micro-batches, nothing says which of them a call is for: a rank
    that skips a call and its backward makes its next call in the place of the
    skipped one, as one that merely is ahead would, and all find out at the
    last call. With exchanges that `plan` made from different items they find
    out at the next one.
    """

    def __init__(
        self, route: RankRoute, digest: str, group: ExchangeGroup, replica_grad: ReplicaGrad = "mean"
    ) -> None:
        """Run `route` in `group`; `digest` stands for the routes that all ranks must have in common."""
        if replica_grad not in ("mean", "sum"):
            raise UnusableRequest(f'replica_grad is "mean" or "sum", not {replica_grad!r}')
        self.route = route
        self.digest = digest
        self.group = group
        self.replica_grad = replica_grad
        self._agreed: dict[Signature, _Agreement] = {}
        """For each kind of call that was agreed on, what that means."""
        self._last: Signature | None = None
        """The kind of call that was agreed on last; None before the first."""
        self._routes = digest_prefix(digest)
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

        A table comes from a document that `hpplan route` wrote, or is made here:

            from hpplan.routing import load_workload, parse_mesh, plan_routes, routes_from_data

            routes = routes_from_data(json.loads(Path("routes.json").read_text()))
            routes = plan_routes(parse_mesh("cp=2,tp=2,sp"), load_workload(workload))

        `group` is an ExchangeGroup, a process group of the parent's ranks, or
        None to make one from the table's mesh. `timeout` is in seconds, and
        counts where the group is made here. Raises UnusableRequest outside a
        job, in one of another size, and on a later pipeline stage.
        """
        made = _group(group, routes.mesh, timeout)
        return cls(*_first_stage(routes.rank_exchange(dist.get_rank())), made, replica_grad)

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
        InvalidInput or UnusableRequest itself.
        """
        from hpplan.exchange.micro_batch import plan_micro_batch, workload_data

        mesh = parse_mesh(mesh, "mesh") if isinstance(mesh, str) else mesh
        made = _group(group, mesh, timeout)
        try:
            data = workload_data(items, sequence, buckets, encoder_cp_size)
            planned = plan_micro_batch(data, mesh, dist.get_rank(), granularity, assign)
        except HpplanError as error:
            with suppress(PeersFailed):
                made.ledger.refuse(f"cannot plan its micro-batch: {error}")
            raise
        return cls(*_first_stage(planned), made, replica_grad)

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
        brings something else, or is lost. Where one rank makes up the group and
        keeps all its rows as they lie, what it gets is the features themselves,
        not a copy: it must not change either in place.
        """
        with self.group.ledger.telling():
            return Received(self._engine.packing, self._call(features), self.group)

    def _call(self, features: torch.Tensor | Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        payloads, problem = tensors(features)
        problem = problem or self._problem(payloads)
        if len(self.route.group_ranks) > 1:
            step, needs_grad = self._step_together(payloads, problem)
            return self._run(payloads, step, needs_grad=needs_grad)
        if problem is not None:
            self.group.ledger.refuse(problem)
        return self._run(payloads, None, needs_grad=torch.is_grad_enabled())

    def agree_again(self) -> None:
        """Have the next call agree anew; every rank of the group calls this.

        Needed where the ranks cannot tell by themselves that something
        changed: when a frozen encoder is thawed, a rank without features
        does not see it.
        """
        self._agreed.clear()

    def _run(
        self, payloads: Sequence[torch.Tensor], step: Step | None, *, needs_grad: bool
    ) -> tuple[torch.Tensor, ...]:
        """Run the collective of a step that all ranks take; without one, this rank is alone."""
        engine = self._engine
        if step is None and engine.packing.in_order:
            return tuple(payloads)
        if not needs_grad:
            with torch.no_grad():
                return engine.forward(payloads)

        def before_backward() -> None:
            if step is not None:
                self.group.lockstep.take(step._replace(kind=Kind.GRADIENTS), "exchanging gradients")

        return exchanged(engine, before_backward, self._anchor, payloads)

    def _problem(self, payloads: Sequence[torch.Tensor]) -> str | None:
        """Return what is wrong with the features of this rank, None where they are right."""
        if not payloads:
            return "no payload tensor was given"
        first, rows = payloads[0], self._engine.packing.bucket_rows
        for number, payload in enumerate(payloads):
            name = "the features" if len(payloads) == 1 else f"payload {number}"
            problem = difference(name, payload, first, rows)
            if problem is not None:
                return problem
        if first.device.type not in self.group.device_types:
            devices = " or ".join(self.group.device_types)
            return f"the features are on {first.device}, and the process group exchanges on {devices}"
        return None

    def _step_together(self, payloads: Sequence[torch.Tensor], problem: str | None) -> tuple[Step, bool]:
        """Have all ranks take this call's step, and agree first where something is new.

        Return the step, and whether gradients will travel back.
        """
        ledger, lockstep = self.group.ledger, self.group.lockstep
        lockstep.calls += 1
        if problem is not None and self._last is not None:
            ledger.refuse(problem)
        wants_grad = torch.is_grad_enabled() and any(payload.requires_grad for payload in payloads)
        signature = signature_of(payloads) if problem is None else None
        agreement = self._agreed.get(signature) if signature is not None else None
        if agreement is not None and (agreement.needs_grad or not wants_grad):
            step = Step(self._routes, agreement.brings, lockstep.calls, Kind.FEATURES)
            lockstep.take(step, "exchanging features")
            return step, agreement.needs_grad
        surprise = None
        if signature is not None and self._last is not None:
            surprise = f"rank {ledger.rank} {news(signature, self._last, again=not self._agreed)}"
        step = Step(self._routes, b"", lockstep.calls, Kind.AGREEING)
        lockstep.take(step, "agreeing on the exchange", surprise)
        needs_grad = self._agree(signature, problem, wants_grad=wants_grad)
        assert signature is not None
        what = spelled(signature) + (", with gradients" if needs_grad else "")
        brings = lockstep.short(what)
        self._agreed[signature] = _Agreement(needs_grad, brings)
        self._last = signature
        return step._replace(brings=brings), needs_grad

    def _agree(self, signature: Signature | None, problem: str | None, *, wants_grad: bool) -> bool:
        note = {
            "digest": self.digest,
            "replica_grad": self.replica_grad,
            "brings": "nothing that can be sent" if signature is None else spelled(signature),
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


def _first_stage(planned: tuple[RankRoute, str] | None) -> tuple[RankRoute, str]:
    if planned is None:
        raise UnusableRequest("this rank is on a later pipeline stage, and the first stage alone exchanges")
    return planned
