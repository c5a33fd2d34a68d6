"""Options that commands share which plan routes, and what they collect."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from hpplan.cli.names import CP_LAYOUT, GRANULARITY, POLICY
from hpplan.cli.options import INPUT, together
from hpplan.routing.assignment import DEFAULT_POLICY, POLICIES, policy_named
from hpplan.routing.assignment.base import COSTS, LOAD_FACTOR, Cost

if TYPE_CHECKING:
    from hpplan.plan.settings import Settings
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.transfers import Granularity
    from hpplan.workload.workload import Workload


class FiniteFloat(click.FloatRange):
    """A number within a range; `nan` and `inf` are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's own
        """Return the number, or fail as click does."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class NumberOrAll(click.IntRange):
    """A number that is at least `least`, or `all`, or what stands in place of that."""

    def __init__(self, what: str, least: int, other: str = "all") -> None:
        """Take what messages call it."""
        super().__init__(min=least)
        self._what, self._other = what, other

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own
        """Return the rank or `all`, or fail as click does."""
        if value == self._other:
            return value
        try:
            int(value)
        except ValueError:
            self.fail(
                f"'{value}' is not a valid {self._what}; give a number from {self.min}, or "
                f"{self._other if self._other == 'all' else 'none'}.",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


POOL = click.option(
    "--pool",
    type=NumberOrAll("number of replicas", 1),
    metavar="[N|all]",
    help="Replicas, one after the other, whose ranks share the encoder work. Default: the workload's, or 1.",
)

_HEEDING = " or ".join(policy.name for policy in POLICIES if policy.heeds_load_factor)

_MESH = "Axes outermost first, as dp=2,cp=2,tp=4,sp. Default: the plan's parallel_dims."

_what_to_route = together(
    click.option(
        "--workload",
        "workload_file",
        type=INPUT,
        metavar="FILE",
        help="The workload of a plan that has none under feature_exchange, or another than its own.",
    ),
    POOL,
    click.option("--cp-layout", type=CP_LAYOUT, help="The CP layout, instead of the workload's."),
    click.option(
        "--granularity",
        type=GRANULARITY,
        help="Send whole records to each destination (record, the default), only owned rows (row), or these "
        "once to each CP coordinate, whose TP ranks pass them on where they hold copies (once).",
    ),
    click.option(
        "--assign",
        type=POLICY,
        metavar="POLICY",
        help="How items are assigned where the workload has no buckets: "
        f"{', '.join(policy.name for policy in POLICIES)}; default {DEFAULT_POLICY}. "
        "A micro-batch picked out of several is assigned anew.",
    ),
    click.option(
        "--cost",
        type=click.Choice(COSTS),
        help="What encoding an item costs; rows^2 for full attention. Default: rows.",
    ),
    click.option(
        "--load-factor",
        type=FiniteFloat(min=1.0),
        metavar="F",
        help=f"How far above the best bound --assign {_HEEDING} lets a load go. Default: {LOAD_FACTOR}.",
    ),
    click.option("--pad", is_flag=True, help="Round the sequence length up instead of refusing it."),
    click.option(
        "--micro-batch",
        type=click.IntRange(min=0),
        metavar="K",
        help="Micro-batch to route, counted from 0, where the input has several.",
    ),
)

routing_options = together(click.option("--mesh", "mesh_text", metavar="SPEC", help=_MESH), _what_to_route)
"""What to route: mesh, workload, layout, granularity, assignment, padding."""

preview_options = together(
    click.option(
        "--mesh",
        "meshes",
        metavar="SPEC",
        multiple=True,
        help=f"{_MESH} Given several times: these meshes side by side.",
    ),
    _what_to_route,
)
"""The same, on any number of meshes."""


@dataclass(frozen=True)
class RouteOptions:
    """What `routing_options` collects."""

    mesh_text: str | None = None
    workload_file: str | None = None
    cp_layout: str | None = None
    granularity: Granularity | None = None
    assign: str | None = None
    cost: Cost | None = None
    load_factor: float | None = None
    micro_batch: int | None = None
    pad: bool = False
    pool: int | str | None = None

    @property
    def replaces_workload(self) -> bool:
        """Whether what is routed is another workload than the plan's own."""
        changed = self.cp_layout is not None or self.pool is not None or self.pad
        return self.workload_file is not None or changed

    def over(self, settings: Settings) -> RouteOptions:
        """Return these options, with the mesh and the workload of a configuration where none are given."""
        return replace(
            self,
            mesh_text=self.mesh_text or settings.mesh,
            workload_file=self.workload_file or settings.workload,
        )

    def given(self) -> list[str]:
        """Return the names of the options that were given."""
        spelled = {"mesh_text": "--mesh", "workload_file": "--workload"}
        return [
            spelled.get(field.name, f"--{field.name.replace('_', '-')}")
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]

    def check_load_factor(self) -> None:
        """Raise a usage error where no policy of --assign heeds --load-factor."""
        if self.load_factor is not None and not policy_named(self.assign or DEFAULT_POLICY).heeds_load_factor:
            raise click.UsageError(
                f"--load-factor is for --assign {_HEEDING}; add that, or leave out --load-factor"
            )

    def view(self, table: RoutingTable, *, planned: bool = True, **shown: Any) -> RouteView:  # noqa: ANN401 - fields of a view
        """Return a table as it is shown; `planned` says that the options planned it."""
        from hpplan.reports.route.view import RouteView

        assigned = planned and any(batch.buckets is None for batch in table.workload.batches)
        return RouteView(
            table,
            (self.assign or DEFAULT_POLICY) if assigned else "",
            cost=self.cost or "rows",
            load_factor=self.load_factor or LOAD_FACTOR,
            **shown,
        )

    def plan(self, mesh: Mesh, workload: Workload, ranks_per_node: int | None = None) -> RoutingTable:
        """Plan the routes as the options say; `local` heeds nodes where their size is known."""
        from hpplan.errors import InvalidInput
        from hpplan.routing.routes import plan_routes

        self.check_load_factor()
        try:
            return plan_routes(
                mesh,
                workload,
                self.granularity or "record",
                self.assign or DEFAULT_POLICY,
                cost=self.cost or "rows",
                load_factor=self.load_factor or LOAD_FACTOR,
                ranks_per_node=ranks_per_node,
            )
        except InvalidInput as error:
            # A misspelt field may be why the workload does not fit.
            raise InvalidInput([*error.diagnostics, *workload.warnings]) from None
