"""Routes: the mesh and the workload they come from, tables that were written, and previews."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.api.documents import read_document
from hpplan.diagnostics import Place
from hpplan.documents.reader import Document
from hpplan.documents.source import Sources
from hpplan.plan.model import Plan
from hpplan.routing.mesh import Mesh
from hpplan.workload.workload import Workload

if TYPE_CHECKING:
    from hpplan.api.documents import Readable
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.statistics import Statistics
    from hpplan.routing.traffic import Link


def parse_mesh(text: str) -> Mesh:
    """Return the mesh of a text such as `dp=2,cp=2,tp=4,sp`, outermost axis first.

    Raises InvalidInput; findings carry the column within the text.
    """
    from hpplan.routing import mesh

    return mesh.parse_mesh(text, "mesh")


def mesh_of_plan(plan: Plan) -> Mesh:
    """Return the mesh that a plan's `parallel_dims` give: pp, dp, cp, tp from the outermost in.

    Raises InvalidInput where they give none, and UnusableRequest where the plan has none.
    """
    from hpplan.errors import UnusableRequest
    from hpplan.routing import mesh

    if "parallel_dims" not in plan.data:
        raise UnusableRequest("the plan has no parallel_dims to take the mesh from")
    return mesh.mesh_of_plan(plan.data["parallel_dims"], plan.place.at("parallel_dims"))


def load_workload(
    given: Readable, sources: Sources | None = None, *, micro_batch: int | None = None
) -> Workload:
    """Return the workload at a path, in plain data, or under a plan's `feature_exchange`.

    Of several micro-batches, `micro_batch` picks one, counted from 0. Raises
    InvalidInput with everything that is wrong with the workload, and
    UnusableRequest for a document of another kind, for a micro-batch that
    there is not, and where one has to be picked.
    """
    from hpplan.errors import UnusableArgument

    workloads = load_micro_batches(given, sources, micro_batch=micro_batch)
    if len(workloads) > 1:
        raise UnusableArgument("micro_batch", f"the input has {len(workloads)} micro-batches; pick one")
    return workloads[0]


def load_micro_batches(
    given: Readable, sources: Sources | None = None, *, micro_batch: int | None = None
) -> tuple[Workload, ...]:
    """Return the workload of each micro-batch, in the order in which they run; of one workload, that one.

    With `micro_batch` that one alone is read. Raises what `load_workload`
    raises, save where several are there.
    """
    from hpplan.validation.kinds import take
    from hpplan.workload.micro_batches import load_workloads

    document = read_document(given, sources, name="workload")
    data, place = document.data, document.place
    if take(document, "hpplan.load_workload", "workload", "plan") == "plan":
        data, place = exchange_of_plan(document)
    return load_workloads(data, place, micro_batch)


def exchange_of_plan(document: Document, hint: str | None = None) -> tuple[Any, Place]:
    """Return what a plan has under `feature_exchange`, and its place.

    Raises InvalidInput where it has nothing there, with a hint at the way out.
    """
    from hpplan.diagnostics import Diagnostic
    from hpplan.errors import InvalidInput
    from hpplan.workload.codes import MISSING_FEATURE_EXCHANGE

    field = "feature_exchange"
    if field not in document.data:
        message = f"the plan has no `{field}`, so there is no workload to route"
        raise InvalidInput([Diagnostic(MISSING_FEATURE_EXCHANGE, message, document.place, hint)])
    return document.data[field], document.place.at(field)


def load_routes(given: Readable, sources: Sources | None = None) -> RoutingTable:
    """Return the routing table at a path or in plain data.

    It is planned again and compared with what the document says, so that
    nothing gets past that could make ranks disagree. Raises InvalidInput where
    the two differ, and UnusableRequest for a document of another kind.
    """
    from hpplan.routing import routes_document
    from hpplan.validation.kinds import take

    document = read_document(given, sources, name="routes")
    take(document, "hpplan.load_routes", "routes")
    return routes_document.load_routes(document)


def load_links(given: Readable, sources: Sources | None = None) -> Cluster:
    """Return the links of a cluster at a path or in plain data, as `hpplan exec --calibrate` writes them.

    Raises InvalidInput with everything that is wrong with them, and UnusableRequest for a document of
    another kind.
    """
    from hpplan.routing.cluster import cluster_from_data
    from hpplan.validation.kinds import take

    document = read_document(given, sources, name="links")
    take(document, "hpplan.load_links", "links")
    return cluster_from_data(document.data, document.place)


def preview(
    table: RoutingTable | Statistics | Meshes,
    format_name: str = "table",
    *,
    rank: int | None = None,
    link: Link | Cluster | None = None,
    ranks_per_node: int | None = None,
) -> str:
    """Return a routing table as `hpplan route --format` shows it, or what one global rank of it does.

    Statistics over micro-batches and several meshes are shown as they are, without the other arguments.

    With a `link`, or the links of a cluster, there is a time in seconds, with `ranks_per_node`
    what leaves a node. Raises UnusableRequest for a format or a link that there
    is not, and for a format that shows all ranks alone.
    """
    from hpplan.errors import UnusableRequest
    from hpplan.reports.route.formats import FORMATS
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.request import check_links
    from hpplan.routing.routes import RoutingTable

    chosen = next((row for row in FORMATS if row.name == format_name), None)
    if chosen is None:
        names = ", ".join(row.name for row in FORMATS)
        raise UnusableRequest(f"format_name is one of {names}, not {format_name!r}")
    if not isinstance(table, RoutingTable):
        if rank is not None or link is not None or ranks_per_node is not None:
            raise UnusableRequest("rank, link and ranks_per_node are for one routing table; leave them out")
        return (
            chosen.meshes(table, Screen())
            if isinstance(table, Meshes)
            else chosen.statistics(table, Screen())
        )
    if isinstance(link, Cluster):
        link.check_reach(table.mesh.world_size)
        ranks_per_node = ranks_per_node or link.ranks_per_node
    elif link is not None:
        check_links(*link)
    view = RouteView(table, "", link, ranks_per_node)
    if rank is None:
        return chosen.table(view, Screen())
    if not chosen.by_rank:
        raise UnusableRequest(f"{format_name} shows all ranks; leave out rank")
    return chosen.rank(view, rank, Screen())
