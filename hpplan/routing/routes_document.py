"""The routing table in a document, taken only when it still is what its mesh and workload give."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic, Place, by_level
from hpplan.errors import InvalidInput
from hpplan.routing.fit import check_fit, parent_batches
from hpplan.routing.mesh import mesh_from_data
from hpplan.routing.route_codes import DIGEST_MISMATCH, ROUTES_DIFFER
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_checks import check_sums
from hpplan.routing.routes_shape import PARENT, check_routes_shape
from hpplan.routing.routes_writer import parent_data
from hpplan.wording import plural
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hpplan.documents.reader import Document
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RoutingTable
    from hpplan.workload.workload import Workload

_NOWHERE = Place("routes")
"""Where findings are about data that no document has."""


def load_routes(document: Document) -> RoutingTable:
    """Return the routing table in a document; see `routes_from_data`."""
    return routes_from_data(document.data, document.place)


def routes_from_data(data: Mapping[str, Any], place: Place = _NOWHERE) -> RoutingTable:
    """Return the routing table in plain data.

    The routes are planned again from mesh, workload, buckets and granularity,
    and compared with what the document says: nothing that could make ranks
    disagree gets past. Raises InvalidInput.
    """
    problems, warnings = by_level(check_routes_shape(data, place))
    if problems:
        raise InvalidInput(problems)
    mesh = mesh_from_data(data["mesh"], place.at("mesh"))
    where = place.at("workload")
    workload = load_workload(data["workload"], where)
    mesh = mesh.pooled(workload.encoder_pool)
    problems = list(_check_count(data, mesh, place))
    try:
        assigned = load_workload(_with_buckets(data, mesh), where)
        problems += check_fit(mesh, assigned)
    except InvalidInput as error:
        problems += error.diagnostics
    if problems:
        raise InvalidInput(_in_parents(finding, mesh.pool) for finding in problems)
    table = replace(plan_routes(mesh, assigned, data["granularity"]), workload=workload)
    problems = [*_check_parents(data, table, place), *_check_buckets(workload, table)]
    if data["mode"] != table.mode.name:
        problems.append(
            Diagnostic(ROUTES_DIFFER, f"this mesh has the mode {table.mode.name}", place.at("mode"))
        )
    if data["digest"] != table.digest:
        problems.append(
            Diagnostic(
                DIGEST_MISMATCH,
                f"the digest of this content is {table.digest}",
                place.at("digest"),
                hint="make the table again with `hpplan route`",
            )
        )
    traffic = data.get("traffic")
    if traffic is not None and not problems:
        problems, others = by_level(check_sums(traffic, table, place.at("traffic")))
        warnings += others
    if problems:
        raise InvalidInput([*problems, *warnings])
    return replace(table, warnings=(*table.warnings, *warnings))


def _with_buckets(data: Mapping[str, Any], mesh: Mesh) -> dict[str, Any]:
    """Return the workload with the buckets that the table's parents have."""
    workload = dict(data["workload"])
    buckets = [parent["buckets"] for parent in data["parents"]]
    replicas = workload.get("replicas")
    if replicas is not None:
        if len(replicas) == mesh.dp and len(buckets) * mesh.pool == mesh.dp:
            # Those of a pool stand with its first replica.
            workload["replicas"] = [
                {**replica, "buckets": [] if number % mesh.pool else buckets[number // mesh.pool]}
                for number, replica in enumerate(replicas)
            ]
    elif buckets:
        workload["buckets"] = buckets[0]
    return workload


def _in_parents(finding: Diagnostic, pool: int) -> Diagnostic:
    """Move a finding about buckets to where they stand: in `parents`, and not in the workload."""

    def moved(place: Place) -> Place:
        match place.path:
            case ("workload", "buckets", *rest):
                return replace(place, path=("parents", 0, "buckets", *rest))
            case ("workload", "replicas", int(number), "buckets", *rest):
                return replace(place, path=("parents", number // pool, "buckets", *rest))
        return place

    return replace(finding, place=moved(finding.place), related=tuple(map(moved, finding.related)))


def _check_count(data: Mapping[str, Any], mesh: Mesh, place: Place) -> Iterator[Diagnostic]:
    count = len(data["parents"])
    if mesh.dp % mesh.pool == 0 and count != mesh.parent_count:
        message = f"the table has {plural(count, 'parent')}, and the mesh {mesh.parent_count:,}"
        yield Diagnostic(ROUTES_DIFFER, message, place.at("parents"))


def _check_buckets(workload: Workload, table: RoutingTable) -> Iterator[Diagnostic]:
    """Yield a finding where the workload gives other buckets than the parents that run it have."""
    for number, batch in enumerate(parent_batches(table.mesh, workload)):
        planned = table.parents[number].routes.item_ids
        if batch.buckets is not None and batch.buckets != planned:
            given, routed = ([list(bucket) for bucket in buckets] for buckets in (batch.buckets, planned))
            yield _first_difference(given, routed, batch.place.at("buckets"), "the parents have")


def _check_parents(data: Mapping[str, Any], table: RoutingTable, place: Place) -> Iterator[Diagnostic]:
    where = place.at("parents")
    written: dict[int, dict[str, Any]] = {}
    for index, (found, parent) in enumerate(zip(data["parents"], table.parents, strict=True)):
        shared = written.get(id(parent.routes))
        if shared is None:
            shared = written[id(parent.routes)] = parent_data(parent)
        planned = {"ranks": list(parent.ranks), **shared}
        for name in PARENT.names:
            if name in found and name in planned and found[name] != planned[name]:
                yield _first_difference(found[name], planned[name], where.at(index, name))


def _first_difference(
    found: Any,  # noqa: ANN401 - any field
    planned: Any,  # noqa: ANN401 - the same
    place: Place,
    who: str = "mesh and workload give",
) -> Diagnostic:
    """Return a finding at the first element that differs."""
    if isinstance(found, dict):
        key = next(key for key in chain(found, planned) if found.get(key) != planned.get(key))
        here, is_there, belongs = place.at(key), found.get(key), planned.get(key)
    else:
        index, (is_there, belongs) = next(
            (index, pair) for index, pair in enumerate(zip_longest(found, planned)) if pair[0] != pair[1]
        )
        here = place.at(index)
    return Diagnostic(
        ROUTES_DIFFER,
        f"{who} {_spell(belongs)} here, not {_spell(is_there)}",
        here,
        hint="make the table again with `hpplan route`",
    )


def _spell(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004 - what fits a line
