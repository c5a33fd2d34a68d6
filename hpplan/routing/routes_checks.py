"""What a routing table says beside its routes: sums for people, and fields that nobody knows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic
from hpplan.errors import InvalidInput
from hpplan.routing.cluster import cluster_from_data
from hpplan.routing.route_codes import ROUTES_DIFFER, UNKNOWN_ROUTES_FIELD
from hpplan.routing.traffic import Link, Traffic
from hpplan.shapes.findings import ignored, kind_of
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hpplan.diagnostics import Place
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import RoutingTable

_unknown = ignored(UNKNOWN_ROUTES_FIELD)

_MAKE_AGAIN = "make the table again with `hpplan route`"

_ABSURD = 1e18
"""GB/s and microseconds that no link has."""

_MOST_NAMED = 8
"""Differences of the traffic that are reported one by one."""


def check_sums(data: Mapping[str, Any], table: RoutingTable, place: Place) -> Iterator[Diagnostic]:
    """Yield findings about a `traffic` field that is not what the routes of its table add up to.

    Fields that are not there say nothing wrong; unknown ones are warnings.
    """
    cluster = _cluster(data.get("links"), table)
    planned = Traffic(table, cluster or _link(data.get("estimate"))).to_data()
    known = (*planned, "estimate", "links")
    yield from (_unknown(name, known, place.key(name)) for name in data if name not in known)
    if "estimate" in data and "estimate" not in planned:
        form = "must be {bandwidth_gb_per_s, latency_us, seconds}, of a link that there can be"
        yield Diagnostic(ROUTES_DIFFER, f"`estimate` {form}", place.at("estimate"), hint=_MAKE_AGAIN)
    if "links" in data and cluster is None:
        yield Diagnostic(
            ROUTES_DIFFER, "`links` must be links that reach all ranks", place.at("links"), hint=_MAKE_AGAIN
        )
    for number, found in enumerate(_differences(data, planned, place)):
        if number == _MOST_NAMED:
            return
        yield found


def _link(estimate: object) -> Link | None:
    if not isinstance(estimate, dict):
        return None
    bandwidth: Any = estimate.get("bandwidth_gb_per_s")
    latency: Any = estimate.get("latency_us")
    usable = _is_number(bandwidth) and _is_number(latency)
    if not usable or not 0 < bandwidth < _ABSURD or not 0 <= latency < _ABSURD:
        return None
    return Link(bandwidth, latency)


def _cluster(links: object, table: RoutingTable) -> Cluster | None:
    with suppress(InvalidInput):
        cluster = cluster_from_data(links) if isinstance(links, dict) else None
        if cluster is not None:
            cluster.check_reach(table.mesh.world_size)
        return cluster
    return None


def _is_number(value: Any) -> bool:  # noqa: ANN401 - of a document
    return type(value) in {int, float}


def _differences(found: Any, planned: Any, place: Place) -> Iterator[Diagnostic]:  # noqa: ANN401 - any field
    if isinstance(planned, dict) and isinstance(found, dict):
        for name in found:
            if name in planned:
                yield from _differences(found[name], planned[name], place.at(name))
    elif isinstance(planned, list) and isinstance(found, list) and len(found) == len(planned):
        for number, (one, other) in enumerate(zip(found, planned, strict=True)):
            yield from _differences(one, other, place.at(number))
    elif not (_is_number(found) and _is_number(planned) and found == planned):
        if isinstance(planned, list):
            belongs = plural(len(planned), "entry", "entries")
            length = f"{len(found):,}" if isinstance(found, list) else kind_of(found)
            message = f"each rank has an entry: {belongs}, not {length}"
        elif isinstance(planned, dict):
            message = f"this is a mapping, not {kind_of(found)}"
        else:
            message = f"the routes add up to {planned} here, not {kind_of(found)}"
        yield Diagnostic(ROUTES_DIFFER, message, place, hint=_MAKE_AGAIN)
