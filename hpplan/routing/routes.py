"""The routing table: routes of every parent, planned from a mesh and a workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hpplan.errors import UnusableRequest
from hpplan.routing.assignment import DEFAULT_POLICY, fill_buckets
from hpplan.routing.assignment.base import LOAD_FACTOR
from hpplan.routing.digest import exchange_digest, table_digest
from hpplan.routing.fit import Fit, check_fitted, fit, parent_batch
from hpplan.routing.inputs import InputRoutes
from hpplan.routing.modes import mode_of
from hpplan.routing.once import OnceRoutes, kind_of_routes, once_route
from hpplan.routing.rank_route import RankRoute, rank_route
from hpplan.routing.request import check_request

if TYPE_CHECKING:
    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.modes import Mode
    from hpplan.routing.transfers import BatchRoutes, Granularity
    from hpplan.workload.workload import Workload


class ParentRoutes(NamedTuple):
    """One parent: its global ranks by parent rank, and the routes of the batch it runs."""

    ranks: tuple[int, ...]
    routes: BatchRoutes

    @property
    def inputs(self) -> InputRoutes | None:
        """The routes of inputs, where replicas share the encoder work and every item says its input rows.

        They are worked out anew each time.
        """
        return input_routes(self.routes) if self.routes.ownership.pooled and self.routes.items else None


class RankExchange(NamedTuple):
    """What one rank exchanges: features, the digest of that, and inputs where items say theirs."""

    route: RankRoute
    digest: str
    routes: BatchRoutes
    """Of the whole parent."""
    ranks: tuple[int, ...]
    parent_rank: int

    def inputs(self, *, one_each: bool = False) -> RankRoute | None:
        """Return the route of inputs, or of what each item has one row of, as of its grid."""
        known = input_routes(self.routes, one_each=one_each)
        return None if known is None else known.rank_route(self.ranks, self.parent_rank)


@dataclass(frozen=True, eq=False)
class RoutingTable:
    """All routes of a mesh. Parents that run the same batch share their `BatchRoutes`."""

    mesh: Mesh
    mode: Mode
    granularity: Granularity
    workload: Workload
    fitted: Fit
    parents: tuple[ParentRoutes, ...]
    warnings: tuple[Diagnostic, ...] = ()
    """What the workload's own fields give cause to warn of."""

    def rank_route(self, global_rank: int) -> RankRoute | None:
        """Return what one rank does; None on a later pipeline stage, which does not exchange.

        Raises UnusableRequest for a rank that the mesh does not have.
        """
        at = _locate(self.mesh, global_rank)
        if at is None:
            return None
        parent = self.parents[at[0]]
        return _rank_route(parent.routes, parent.ranks, at[1])

    @cached_property
    def digest(self) -> str:
        """`sha256:…` over everything that affects execution; names, comments and listing order do not."""
        routes = [parent.routes for parent in self.parents]
        return table_digest(self.mesh, self.workload, self.fitted, self.granularity, routes)

    def rank_inputs(self, global_rank: int) -> RankRoute | None:
        """Return what one rank does with inputs; None where its parent moves none.

        Raises UnusableRequest for a rank that the mesh does not have.
        """
        at = _locate(self.mesh, global_rank)
        if at is None:
            return None
        parent = self.parents[at[0]]
        inputs = parent.inputs
        return None if inputs is None else inputs.rank_route(parent.ranks, at[1])

    def rank_exchange(self, global_rank: int) -> RankExchange | None:
        """Return what one rank does, and the digest that the ranks of its parent compare."""
        at = _locate(self.mesh, global_rank)
        if at is None:
            return None
        routes = self.parents[at[0]].routes
        return _rank_exchange(self.mesh, self.workload, self.fitted, self.granularity, routes, *at)


def plan_routes(
    mesh: Mesh,
    workload: Workload,
    granularity: Granularity = "record",
    assign: str = DEFAULT_POLICY,
    *,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    ranks_per_node: int | None = None,
) -> RoutingTable:
    """Plan the exchange of a workload on a mesh.

    `assign`, `cost`, `load_factor` and `ranks_per_node` matter only where the workload has no
    buckets. Raises InvalidInput with everything in which the two do not fit,
    and UnusableRequest for a granularity, policy, cost or load factor that
    there is not.
    """
    check_request(granularity, assign, cost, load_factor)
    fitted = fit(mesh, workload)
    mesh = mesh.pooled(workload.encoder_pool)
    planned = [
        _batch_routes(mesh, fitted, workload, number, granularity, assign, cost, load_factor, ranks_per_node)
        for number in range(len(fitted.shares))
    ]
    parents = tuple(
        ParentRoutes(ranks, planned[number if workload.per_replica else 0])
        for number, ranks in enumerate(mesh.parents())
    )
    warnings = (*workload.warnings, *check_fitted(mesh, workload, fitted))
    return RoutingTable(mesh, mode_of(mesh), granularity, workload, fitted, parents, warnings)


def plan_rank(
    mesh: Mesh,
    workload: Workload,
    global_rank: int,
    granularity: Granularity = "record",
    assign: str = DEFAULT_POLICY,
    *,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    ranks_per_node: int | None = None,
) -> RankRoute | None:
    """Plan what one rank does, without working out the routes of the others.

    Equal to `plan_routes(…).rank_route(global_rank)`. Raises what `plan_routes`
    raises, and UnusableRequest for a rank that the mesh does not have.
    """
    found = plan_rank_exchange(
        mesh,
        workload,
        global_rank,
        granularity,
        assign,
        cost=cost,
        load_factor=load_factor,
        ranks_per_node=ranks_per_node,
    )
    return None if found is None else found.route


def plan_rank_exchange(
    mesh: Mesh,
    workload: Workload,
    global_rank: int,
    granularity: Granularity = "record",
    assign: str = DEFAULT_POLICY,
    *,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    ranks_per_node: int | None = None,
) -> RankExchange | None:
    """Return `plan_routes(…).rank_exchange(global_rank)` as `plan_rank` does; meant for every micro-batch."""
    check_request(granularity, assign, cost, load_factor)
    fitted = fit(mesh, workload)
    mesh = mesh.pooled(workload.encoder_pool)
    at = _locate(mesh, global_rank)
    if at is None:
        return None
    parent, parent_rank = at
    number = parent if workload.per_replica else 0
    routes = _batch_routes(
        mesh, fitted, workload, number, granularity, assign, cost, load_factor, ranks_per_node
    )
    return _rank_exchange(mesh, workload, fitted, granularity, routes, parent, parent_rank)


def _rank_exchange(
    mesh: Mesh,
    workload: Workload,
    fitted: Fit,
    granularity: Granularity,
    routes: BatchRoutes,
    parent: int,
    parent_rank: int,
) -> RankExchange:
    share = fitted.shares[parent if workload.per_replica else 0]
    digest = exchange_digest(mesh, workload, fitted, granularity, share, routes)
    ranks = mesh.parents()[parent]
    return RankExchange(_rank_route(routes, ranks, parent_rank), digest, routes, ranks, parent_rank)


def _batch_routes(
    mesh: Mesh,
    fitted: Fit,
    workload: Workload,
    number: int,
    granularity: Granularity,
    assign: str,
    cost: Cost,
    load_factor: float,
    ranks_per_node: int | None,
) -> BatchRoutes:
    share = fitted.shares[number]
    batch = share.moved(parent_batch(mesh, workload, number))
    buckets = fill_buckets(
        workload,
        batch,
        share.ownership,
        fitted.producers,
        policy=assign,
        cost=cost,
        load_factor=load_factor,
        row_granularity=granularity != "record",
        nodes=()
        if ranks_per_node is None
        else tuple(rank // ranks_per_node for rank in mesh.parents()[number]),
    )
    kind = kind_of_routes(mode_of(mesh), granularity, share.ownership)
    return kind(
        mode_of(mesh),
        granularity,
        share.ownership,
        buckets,
        workload.encoder_cp_size,
        batch.destinations,
        batch.items,
        sharded=workload.sharded,
    )


def _rank_route(routes: BatchRoutes, ranks: tuple[int, ...], parent_rank: int) -> RankRoute:
    route = once_route if isinstance(routes, OnceRoutes) else rank_route
    return route(routes, ranks, parent_rank)  # type: ignore[arg-type]


def input_routes(routes: BatchRoutes, *, one_each: bool = False) -> InputRoutes | None:
    """Return the routes of the inputs of a batch, None where some item does not say its input rows."""
    known = all(item.input_rows is not None for item in routes.items)
    return InputRoutes(routes, one_each=one_each) if known else None


def _locate(mesh: Mesh, global_rank: int) -> tuple[int, int] | None:
    if not 0 <= global_rank < mesh.world_size:
        raise UnusableRequest(
            f"the mesh {mesh} has no rank {global_rank}: its ranks are 0 to {mesh.world_size - 1}"
        )
    return mesh.parent_of(global_rank)
