"""What a trainer calls every micro-batch: features in, rows for my tokens out."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.distributed as dist

from hpplan.diagnostics import Place
from hpplan.documents.disk.files import replace_file
from hpplan.documents.writer import dump_json
from hpplan.errors import HpplanError, UnusableRequest
from hpplan.exchange.content_check import prints_sent, wrong_rows
from hpplan.exchange.engine import Engine, tied
from hpplan.exchange.group import DEFAULT_TIMEOUT, ExchangeGroup, read_mesh
from hpplan.exchange.lockstep import Alike
from hpplan.exchange.micro_batch import pooled_data, workload_data
from hpplan.exchange.packing import Packing
from hpplan.exchange.payloads import difference, look_of, name_of, news, signature_of, tensors
from hpplan.exchange.received import Received
from hpplan.exchange.running import Pending, finish
from hpplan.exchange.uncompiled import uncompiled
from hpplan.routing.assignment import DEFAULT_POLICY
from hpplan.routing.assignment.base import LOAD_FACTOR
from hpplan.routing.routes import plan_rank_exchange, plan_routes
from hpplan.routing.routes_writer import routes_to_data
from hpplan.watch.faults import PeersFailed
from hpplan.workload.shape import DTYPES
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence

    from hpplan.exchange.lockstep import Step
    from hpplan.exchange.payloads import Signature
    from hpplan.exchange.running import Running
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RankExchange, RoutingTable
    from hpplan.routing.transfers import Granularity
    from hpplan.workload.workload import Workload

ReplicaGrad = Literal["mean", "sum"]

_COMPARING = "comparing what arrived with what was sent"

_ROUTE_ALONE = "this exchange knows its route alone; make it with `plan` or `from_routes`"


class FeatureExchange:
    """The exchange of one routing table, on this rank.

    Differentiable: a row's gradient is the sum of what its receivers send
    back. Where TP ranks hold copies of the same tokens, `replica_grad="mean"`
    divides that sum by their number and `"sum"` leaves it.

    Every rank of the group calls it the same number of times, forward and
    backward, also a rank without features and a rank that receives nothing.
    With any rows or gradients, or before them where they are many, each rank
    says what it is about to do. None is handed anything unless all run the same
    routes, bring the same dtype and widths, and send those of the same call;
    they raise PeersFailed where one does not: it has other items, skipped a
    backward, or runs calls or backwards in another order. A rank whose loss
    leaves out what it received skips a backward, unless it trains on
    `received.tie(loss)`. Gradients travel back where some rank needs them.

    Calls are told apart by their number and their routes. Where one exchange
    serves many micro-batches, nothing says which of them a call is for: a rank
    that skips a call and its backward makes its next call in the place of the
    skipped one, as one that merely is ahead would, and all find out at the
    last call. With exchanges that `plan` made from different items they find
    out at the next one.
    """

    def __init__(
        self,
        route: RankRoute,
        digest: str,
        group: ExchangeGroup,
        replica_grad: ReplicaGrad = "mean",
        planned: RankExchange | None = None,
    ) -> None:
        """Run `route` in `group`; `digest` stands for the routes that all ranks must have in common.

        `planned` is what the route is of; without it there is nothing to `bring`.
        """
        if replica_grad not in ("mean", "sum"):
            raise UnusableRequest(f'replica_grad is "mean" or "sum", not {replica_grad!r}')
        self.route = route
        self.digest = digest
        self.group = group
        self.replica_grad = replica_grad
        self._known: dict[Hashable, Alike] = {}
        """The kinds of call that all ranks have made, by the looks of the payloads."""
        self._last: Signature | None = None
        self._anchor = torch.zeros((), requires_grad=True)
        self._planned = planned
        self._table: Callable[[], RoutingTable] | None = None
        self._inputs: dict[bool, FeatureExchange] = {}
        self._idles = False
        """Whether this rank encodes an item of zeros, so that it does not keep others waiting."""
        self._gather: FeatureExchange | None = None
        if route.gather is not None:
            self._gather = FeatureExchange(route.gather, f"{digest}/gather", group, replica_grad)
        divisor = route.copies if replica_grad == "mean" else 1
        packing = Packing(route, _order(route, group.global_ranks))
        self._engine = Engine(packing, group.transport, group.memory, divisor)

    @classmethod
    @uncompiled
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

            routes = hpplan.load_routes("routes.json")
            routes = hpplan.plan_routes(hpplan.parse_mesh("cp=2,tp=2,sp"), hpplan.load_workload(workload))

        `group` is an ExchangeGroup, a process group of the parent's ranks, or
        None to make one from the table's mesh. `timeout` is in seconds, and
        counts where the group is made here. Raises UnusableRequest outside a
        job, in one of another size, and on a later pipeline stage.
        """
        made = _group(group, routes.mesh, timeout)
        made.check_mesh(routes.mesh)
        return cls._of(routes.rank_exchange(dist.get_rank()), lambda: routes, made, replica_grad)

    @classmethod
    @uncompiled
    def plan(
        cls,
        items: Sequence[Mapping[str, Any]],
        mesh: Mesh | str | None,
        sequence: Mapping[str, Any],
        group: ExchangeGroup | dist.ProcessGroup | None = None,
        *,
        buckets: Sequence[Sequence[int]] | None = None,
        encoder_cp_size: int = 1,
        encoder_output: Literal["leader", "sharded"] = "leader",
        granularity: Granularity = "record",
        assign: str = DEFAULT_POLICY,
        cost: Cost = "rows",
        load_factor: float = LOAD_FACTOR,
        replica_grad: ReplicaGrad = "mean",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> FeatureExchange:
        """Plan the exchange of one micro-batch from the items at hand.

        `items`, `sequence` and `buckets` are those of a workload document, for
        this rank's replica, and `mesh` may be text as for `--mesh`, or None for
        that of the group. Every rank of the replica passes the same, and the
        first call refuses when one did not. Where the group is one of a pool,
        the items of its replicas are gathered, and numbered through all of them
        in the order of replicas. Hand in a `group` that was made once; making
        one takes far longer than planning. A rank whose items are wrong fails
        all ranks, and raises InvalidInput or UnusableRequest itself.
        """
        return cls.plan_ahead(
            items,
            mesh,
            sequence,
            group,
            buckets=buckets,
            encoder_cp_size=encoder_cp_size,
            encoder_output=encoder_output,
            granularity=granularity,
            assign=assign,
            cost=cost,
            load_factor=load_factor,
            replica_grad=replica_grad,
            timeout=timeout,
        ).wait()

    @classmethod
    @uncompiled
    def plan_ahead(
        cls,
        items: Sequence[Mapping[str, Any]],
        mesh: Mesh | str | None,
        sequence: Mapping[str, Any],
        group: ExchangeGroup | dist.ProcessGroup | None = None,
        *,
        buckets: Sequence[Sequence[int]] | None = None,
        encoder_cp_size: int = 1,
        encoder_output: Literal["leader", "sharded"] = "leader",
        granularity: Granularity = "record",
        assign: str = DEFAULT_POLICY,
        cost: Cost = "rows",
        load_factor: float = LOAD_FACTOR,
        replica_grad: ReplicaGrad = "mean",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Pending[FeatureExchange]:
        """Begin to plan the next micro-batch, and return at once; `wait()` hands over what `plan` returns.

        The items of a pool travel meanwhile. Every rank of the group calls this,
        and what else goes over the group, in the same order.
        """
        if mesh is None:
            mesh = group.mesh if isinstance(group, ExchangeGroup) else None
            if mesh is None:
                raise UnusableRequest("without a mesh, hand in an exchange group that was made for one")
        mesh = read_mesh(mesh)
        made = _group(group, mesh, timeout)
        if made.mesh is not None:
            mesh = mesh.pooled(made.mesh.pool)
        made.check_mesh(mesh)
        with _refusing(made):
            data = workload_data(items, sequence, buckets, encoder_cp_size)
            data["encoder_output"] = encoder_output
            gathering = made.gathering(data, "gathering their items") if mesh.pool > 1 else None

        def hand_over() -> FeatureExchange:
            with _refusing(made):
                said = data if gathering is None else pooled_data(gathering.wait(), mesh, dist.get_rank())
                workload = load_workload(said, Place("items"))
                planned = plan_rank_exchange(
                    mesh,
                    workload,
                    dist.get_rank(),
                    granularity,
                    assign,
                    cost=cost,
                    load_factor=load_factor,
                )
            table = partial(
                plan_routes, mesh, workload, granularity, assign, cost=cost, load_factor=load_factor
            )
            return cls._of(planned, table, made, replica_grad)

        return Pending(hand_over)

    @classmethod
    def _of(
        cls,
        planned: RankExchange | None,
        table: Callable[[], RoutingTable],
        group: ExchangeGroup,
        replica_grad: ReplicaGrad,
    ) -> FeatureExchange:
        if planned is None:
            raise UnusableRequest(
                "this rank is on a later pipeline stage, and the first stage alone exchanges"
            )
        made = cls(planned.route, planned.digest, group, replica_grad, planned)
        made._table = table
        return made

    @uncompiled
    def write(self, path: str | os.PathLike[str]) -> bool:
        """Write the routing table of this step to a file, in JSON, for `hpplan route` to show.

        A rank does this by itself, and one is enough. The table has the whole
        mesh: replicas of a pool that this rank is not in stand without items,
        and without a pool every replica has this one's. Widths and dtypes are
        those of the last call and `bring`, as far as there was one. The file has
        its old content or its new; returns whether it changed. Raises
        UnusableRequest where it cannot be written, and where only a route is known.
        """
        if self._table is None:
            raise UnusableRequest(_ROUTE_ALONE)
        table = self._table()
        table = replace(table, workload=self._as_it_ran(table.workload))
        return replace_file(os.fspath(path), dump_json(routes_to_data(table)))

    def _as_it_ran(self, workload: Workload) -> Workload:
        """Return a workload with the rows of the last call in the place of the planned ones."""
        features, inputs = self._last, self._inputs[False]._last if False in self._inputs else None  # noqa: SLF001
        if features is not None and (dtype := name_of(features.dtype)) in DTYPES and any(features.widths):
            widths = features.widths
            # Payloads of several widths are told as one, as wide as they are together.
            width, payloads = (widths[0], len(widths)) if len(set(widths)) == 1 else (sum(widths), 1)
            workload = replace(workload, dtype=dtype, feature_width=width, payloads=payloads)
        if inputs is not None and (dtype := name_of(inputs.dtype)) in DTYPES and any(inputs.widths):
            workload = replace(workload, input_dtype=dtype, input_width=inputs.widths[0])
        return workload

    @uncompiled
    def bring(
        self, inputs: torch.Tensor, *of_items: torch.Tensor, least: Sequence[int] | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Return the inputs of my bucket, in bucket order, of what is read for all items of my replica.

        `inputs` is `[input rows of the replica, ...]`, as `pixel_values`; each of `of_items` is `[items of
        the replica, ...]`, as their grids; both in the order in which the replica lists its items. What
        comes back is as many tensors, with the rows and the items of my bucket, and no gradient. Every
        rank of the group calls this alike, before the features: items that another replica encodes travel
        there. Raises UnusableRequest where items do not say their `input_rows`, and PeersFailed as a call
        does.

        An encoder that is itself parallel waits for a rank with nothing to encode. With `least`, the
        smallest grid of the family, as (1, 2, 2), such a rank gets one item of zeros; the features that come
        of it are cut off by the exchange, and add exactly zero to every gradient. `of_items` are grids then.
        """
        brought = (
            self._brought(inputs, one_each=False),
            *(self._brought(one, one_each=True) for one in of_items),
        )
        self._idles = least is not None and not self.route.bucket
        if not self._idles or least is None:
            return brought
        pixels, *grids = brought
        one = pixels.new_zeros(math.prod(least), *pixels.shape[1:])
        return one, *(grid.new_tensor([list(least)]) for grid in grids)

    def _brought(self, read: torch.Tensor, *, one_each: bool) -> torch.Tensor:
        flat = read.detach().unsqueeze(-1).flatten(1)
        with torch.no_grad():
            inputs = self._input_exchange(one_each=one_each)
            rows = inputs._start(flat, checked=False).wait().by_position()  # noqa: SLF001 - of the same class
        return rows.reshape(len(rows), *read.shape[1:])

    def _input_exchange(self, *, one_each: bool) -> FeatureExchange:
        if one_each not in self._inputs:
            route = None if self._planned is None else self._planned.inputs(one_each=one_each)
            if route is None:
                raise UnusableRequest("the items do not say their `input_rows`, so there is nothing to bring")
            digest = f"{self.digest}/{'items' if one_each else 'inputs'}"
            self._inputs[one_each] = FeatureExchange(route, digest, self.group)
        return self._inputs[one_each]

    @cached_property
    def local_tokens(self) -> torch.Tensor:
        """The token of each position of this rank's sequence, `[local tokens]`, on the CPU.

        Tokens count through a batch row with its padding. Raises UnusableRequest
        where only a route is known, and not what it is planned from.
        """
        if self._planned is None:
            raise UnusableRequest(_ROUTE_ALONE)
        ownership = self._planned.routes.ownership
        tokens = torch.empty(ownership.local_length, dtype=torch.int64)
        for start, stop, local in ownership.shard(ownership.shard_of(self._planned.parent_rank)).ranges:
            tokens[local : local + stop - start] = torch.arange(start, stop)
        return tokens

    @uncompiled
    def take_local(self, whole: torch.Tensor, dim: int = 1, padding: float = 0) -> torch.Tensor:
        """Return this rank's slice of a tensor that has all tokens of a batch row along `dim`.

        What lies beyond its end, where the sequence is padded, is `padding`. As
        token ids, labels, positions and masks are cut; differentiable.
        """
        tokens = self.local_tokens.to(whole.device)
        length = whole.shape[dim]
        taken = whole.index_select(dim, tokens.clamp(max=max(length - 1, 0)))
        beyond = tokens >= length
        if not bool(beyond.any()):
            return taken
        shape = [-1 if at == dim % whole.dim() else 1 for at in range(whole.dim())]
        return taken.masked_fill(beyond.view(shape), padding)

    @property
    def gradient_scale(self) -> float:
        """By what to multiply encoder gradients where the trainer averages them over all ranks.

        Each image is encoded once, so that gradients of the ranks of a parent
        add up; the mean over all ranks divides by those of a replica too often.
        """
        ownership = self._planned.routes.ownership if self._planned is not None else None
        return float(1 if ownership is None else ownership.replica_size)

    @property
    def bucket(self) -> tuple[tuple[int, int], ...]:
        """(item_id, rows) of the features this rank brings, in order; empty where it brings none."""
        return self.route.bucket

    @property
    def process_group_order(self) -> tuple[int, ...]:
        """The route's group ranks by rank in the process group; the two differ where tp is not innermost."""
        return self._engine.packing.order

    @uncompiled
    def __call__(self, features: torch.Tensor | Sequence[torch.Tensor]) -> Received:
        """Exchange the rows of my bucket, `[rows, width]` in bucket order, for the rows of my tokens.

        Several payload tensors with the same rows travel in one collective. A
        rank without a bucket passes zero rows of the same width and device, and
        gets the others' dtype, which it need not know under autocast. Raises
        PeersFailed on every rank, naming the rank, when one brings something
        else, or is lost. Where one rank makes up the group and
        keeps all its rows as they lie, what it gets is the features themselves,
        not a copy: it must not change either in place.
        """
        return self.start(features).wait()

    @uncompiled
    def start(self, features: torch.Tensor | Sequence[torch.Tensor]) -> Pending[Received]:
        """Begin a call, and return at once; `wait()` of what it returns hands over what the call does.

        Until then the features must not be changed in place. Several may be in
        flight: every rank of the group starts and waits in the same order, and
        counts a start as a call. What goes over the group next, a start, a
        call, `bring` or the gathering of items, first waits until all ranks
        have started this one. Of the two steps of `once`, the second begins in
        `wait()`. Raises PeersFailed for features that do not fit.
        """
        return self._start(features, checked=self.group.checks_next_call())

    @uncompiled
    def check(self, features: torch.Tensor | Sequence[torch.Tensor]) -> Received:
        """Exchange as a call does, and compare each row that arrives with what its encoder's rank sent.

        For a real step: every rank of the group checks the same call. Fingerprints of
        the rows go around apart from them, so this takes longer.
        Raises PeersFailed on every rank, naming the rank, the item and the row,
        where some bit of it is another. With `HPPLAN_CHECK_STEPS=K` in the
        environment of all ranks, the first K calls of each group do this.
        """
        return self._start(features, checked=True).wait()

    def _start(self, features: torch.Tensor | Sequence[torch.Tensor], *, checked: bool) -> Pending[Received]:
        with self.group.ledger.telling():
            payloads, problem = tensors(features)
            if problem is not None:
                self.group.ledger.refuse(problem)
            if self._idles:
                payloads = tuple(one[:0] if one.ndim else one for one in payloads)
            arriving = self._call(payloads, checked=checked)
        return Pending(partial(self._hand_over, payloads, arriving, checked=checked))

    def _hand_over(
        self,
        payloads: Sequence[torch.Tensor],
        arriving: Callable[[], tuple[torch.Tensor, ...]],
        *,
        checked: bool,
    ) -> Received:
        with self.group.ledger.telling():
            received = Received(self._engine.packing, arriving(), self.group)
            if self._gather is not None:
                held = tuple(received.by_position(number) for number in range(len(received.payloads)))
                gathered = self._gather._call(held, checked=checked)()  # noqa: SLF001 - of the same class
                received = Received(self._gather._engine.packing, gathered, self.group)  # noqa: SLF001 - the same
            if checked:
                self._compare(payloads, received)
        return received

    def _compare(self, payloads: Sequence[torch.Tensor], received: Received) -> None:
        """Break off on all ranks where what arrived at one is not what was sent."""
        said = self.group.gathered(prints_sent(self.route, payloads), _COMPARING)
        wrong = wrong_rows(received, [one for of_rank in said for one in of_rank])
        if wrong is not None:
            self.group.ledger.refuse(wrong)
        self.group.gathered(None, _COMPARING)  # no rank goes on before all have looked

    def _call(
        self, payloads: tuple[torch.Tensor, ...], *, checked: bool
    ) -> Callable[[], tuple[torch.Tensor, ...]]:
        """Begin to send payloads; return what waits for those that arrive."""
        look = (look_of(payloads), checked)
        alike = self._known.get(look)
        if alike is None:
            problem = self._problem(payloads)
            if problem is not None:
                self.group.ledger.refuse(problem)
            if len(self.route.group_ranks) == 1:
                return lambda: payloads if self._engine.packing.in_order else self._alone(payloads)
            alike = self._alike(signature_of(payloads), new=True, checked=checked)
        wants_grad = torch.is_grad_enabled() and any(payload.requires_grad for payload in payloads)
        step = self.group.lockstep.call(alike, wants_grad=wants_grad)
        running = self.group.lockstep.begin(self._steps(payloads, step, checked=checked))
        return partial(self._arrived, payloads, step, running, look)

    def _steps(
        self, payloads: tuple[torch.Tensor, ...], step: Step, *, checked: bool
    ) -> Generator[None, None, tuple[torch.Tensor, ...]]:
        """Send payloads, those without rows in the others' dtype, and as a rank that brought that."""
        if not self._engine.packing.bucket_rows:
            dtype = yield from step.meet("exchanging features")
            if dtype is not None:
                signature, apart = step.alike.signature._replace(dtype=dtype), step.alike.apart
                step.alike = Alike(self.digest, self.replica_grad, signature, first=False, checked=checked)
                step.alike.apart = apart
                payloads = tuple(payload.to(dtype) for payload in payloads)
        return (yield from self._engine.forward(payloads, step))

    def _arrived(
        self,
        payloads: tuple[torch.Tensor, ...],
        step: Step,
        running: Running[tuple[torch.Tensor, ...]],
        look: tuple[Hashable, bool],
    ) -> tuple[torch.Tensor, ...]:
        """Wait for what was sent to this rank, and tie it to the payloads it sent."""
        self.group.ledger.require_whole()
        received = self.group.lockstep.finish(running)
        signature = step.alike.signature
        if look not in self._known:
            self._known[look] = self._alike(signature, new=False, checked=look[1])
        self._last = signature
        if not signature.grad_mode:
            return received
        with torch.enable_grad():
            return tied(self._engine, step, received, self._anchor, payloads)

    def _alone(self, payloads: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        """Put the rows of a group of one rank into their order."""
        received = finish(self._engine.forward(payloads))
        return (
            tied(self._engine, None, received, self._anchor, payloads)
            if torch.is_grad_enabled()
            else received
        )

    def agree_again(self) -> None:
        """Return at once: in each call ranks find out by themselves whether one has thawed its encoder.

        Trainers that call this need not.
        """

    def _alike(self, signature: Signature, *, new: bool, checked: bool) -> Alike:
        if not self._engine.packing.bucket_rows and self._last is not None:
            # Without rows, it has the dtype that the others have.
            signature = signature._replace(dtype=self._last.dtype)
        surprise = news(signature, self._last) if new and self._last not in {None, signature} else ""
        first = new and self._last is None
        return Alike(
            self.digest,
            self.replica_grad,
            signature,
            surprise,
            first=first,
            checked=checked,
            without_rows=not self._engine.packing.bucket_rows,
        )

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


@contextmanager
def _refusing(group: ExchangeGroup) -> Iterator[None]:
    """Fail all ranks of the group where this one's micro-batch cannot be planned."""
    try:
        yield
    except HpplanError as error:
        with suppress(PeersFailed):
            group.ledger.refuse(f"cannot plan its micro-batch: {error}")
        raise


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
