"""The routing table as a document: written from a plan, and read back only when it still is that plan."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError, core_schema

from hpplan.diagnostics import Diagnostic, Place
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.plan.shape import BELONGS, FLAG, TEXT, count, described, kind_of
from hpplan.routing.mesh import mesh_from_data
from hpplan.routing.route_codes import DIGEST_MISMATCH, MALFORMED_ROUTES, ROUTES_DIFFER
from hpplan.routing.routes import ROUTES_VERSION, plan_routes
from hpplan.routing.routes_checks import check_fields, check_sums
from hpplan.routing.traffic import Traffic
from hpplan.routing.transfers import GRANULARITIES
from hpplan.routing.wording import plural
from hpplan.routing.workload import load_workload
from hpplan.routing.workload_shape import KEY_ORDER as WORKLOAD_KEY_ORDER
from hpplan.routing.workload_shape import WORKLOAD_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core.core_schema import CoreSchema

    from hpplan.documents.reader import Document
    from hpplan.routing.routes import ParentRoutes, RoutingTable
    from hpplan.routing.traffic import Link

LARGEST_MATRIX = 512
"""Ranks of a parent up to which its matrix is written out; the transfers say the same."""

MOST_TRANSFERS = 20_000_000
"""Transfers that a document may list."""

_TOP = (
    "hpplan_routes",
    "digest",
    "mesh",
    "mode",
    "granularity",
    "workload",
    "parents",
    "traffic",
)
_MESH = ("axes", "order", "sp", "ep")
_PARENT = ("ranks", "buckets", "destinations", "transfers", "matrix")
KEY_ORDER = {
    (): _TOP,
    ("mesh",): _MESH,
    ("parents", "*"): _PARENT,
    **{("workload", *path): fields for path, fields in WORKLOAD_KEY_ORDER.items()},
}
"""Where the writer follows the order of fields in a routing table."""

_NOWHERE = Place("routes")
"""Where findings are about data that no document has."""

_RANKS = core_schema.list_schema(count(0), strict=True)
_SQUARE = core_schema.list_schema(_RANKS, strict=True)


def _record(fields: Mapping[str, CoreSchema], optional: tuple[str, ...] = ()) -> CoreSchema:
    return core_schema.typed_dict_schema(
        {
            name: core_schema.typed_dict_field(schema, required=name not in optional)
            for name, schema in fields.items()
        },
        extra_behavior="allow",
        strict=True,
    )


ROUTES_SCHEMA = _record(
    {
        "hpplan_routes": described(core_schema.literal_schema([ROUTES_VERSION]), "Version of the format."),
        "digest": described(
            core_schema.str_schema(strict=True, pattern="^sha256:[0-9a-f]{64}$"),
            "Of everything that affects execution.",
        ),
        "mesh": _record(
            {
                "axes": described(
                    core_schema.dict_schema(TEXT, count(1), strict=True), "Axis to size; the rest has size 1."
                ),
                "order": described(
                    core_schema.list_schema(TEXT, strict=True),
                    "The axes, outermost first; pp, dp, cp, tp when absent.",
                ),
                "sp": described(FLAG, "Whether TP ranks split the sequence."),
                "ep": count(1),
            },
            optional=("order", "ep"),
        ),
        "mode": TEXT,
        "granularity": core_schema.literal_schema(list(GRANULARITIES)),
        "workload": WORKLOAD_SCHEMA,
        "parents": core_schema.list_schema(
            _record(
                {
                    "ranks": described(_RANKS, "Global rank of each parent rank."),
                    "buckets": described(_SQUARE, "Item ids of each producer, in order."),
                    "destinations": described(
                        core_schema.dict_schema(TEXT, _RANKS, strict=True),
                        "Item id to the parent ranks that receive it.",
                    ),
                    "transfers": described(
                        core_schema.list_schema(_RANKS, strict=True),
                        "[source, destination, item_id, row_start, row_stop] in parent ranks.",
                    ),
                    "matrix": described(_SQUARE, "Rows from each parent rank to each."),
                },
                optional=("matrix",),
            ),
            strict=True,
        ),
        "traffic": described(
            core_schema.dict_schema(TEXT, core_schema.any_schema()),
            "Sums, for people. `producer_load` is the busiest producer of all parents, the bound of its own "
            "parent, whose items cannot move to another, and the mean over the producers of all parents.",
        ),
    },
    optional=("traffic",),
)


def routes_to_data(table: RoutingTable, link: Link | None = None) -> dict[str, Any]:
    """Return the table as a document.

    Raises UnusableRequest when it would list more than `MOST_TRANSFERS`.
    """
    listed = sum(routes.totals.transfers for _, routes in table.parents)
    if listed > MOST_TRANSFERS:
        raise UnusableRequest(
            f"this table would list {listed:,} transfers, more than {MOST_TRANSFERS:,}; "
            "look at its summary (--format table or csv), or at one rank (--rank)"
        )
    written: dict[int, dict[str, Any]] = {}
    parents: list[dict[str, Any]] = []
    for parent in table.parents:
        shared = written.get(id(parent.routes))
        if shared is None:
            shared = written[id(parent.routes)] = _parent_data(parent)
        parents.append({"ranks": list(parent.ranks), **shared})
    return {
        "hpplan_routes": ROUTES_VERSION,
        "digest": table.digest,
        "mesh": table.mesh.to_data(),
        "mode": table.mode.name,
        "granularity": table.granularity,
        "workload": table.workload.to_data(),
        "parents": parents,
        "traffic": Traffic(table, link).to_data(),
    }


def _parent_data(parent: ParentRoutes) -> dict[str, Any]:
    routes = parent.routes
    data: dict[str, Any] = {
        "buckets": [list(bucket) for bucket in routes.item_ids],
        "destinations": {str(item.item_id): routes.destinations(item) for _, item in routes.produced()},
        "transfers": [list(transfer) for transfer in routes.transfers()],
    }
    if routes.size <= LARGEST_MATRIX:
        data["matrix"] = routes.matrix()
    return data


def is_routes(data: Mapping[str, Any]) -> bool:
    """Whether a document says that it is a routing table."""
    return "hpplan_routes" in data


def load_routes(document: Document) -> RoutingTable:
    """Return the routing table in a document; see `routes_from_data`."""
    return routes_from_data(document.data, document.place)


def routes_from_data(data: Mapping[str, Any], place: Place = _NOWHERE) -> RoutingTable:
    """Return the routing table in plain data.

    The routes are planned again from mesh, workload, buckets and granularity,
    and compared with what the document says: nothing that could make ranks
    disagree gets past. Raises InvalidInput.
    """
    problems = list(_check_shape(data, place))
    if problems:
        raise InvalidInput(problems)
    mesh = mesh_from_data(data["mesh"], place.at("mesh"))
    where = place.at("workload")
    workload = load_workload(data["workload"], where)
    try:
        assigned = load_workload(_with_buckets(data, mesh.dp), where)
        planned = plan_routes(mesh, assigned, data["granularity"])
    except InvalidInput as error:
        raise InvalidInput([_in_parents(found) for found in error.diagnostics]) from None
    table = replace(planned, workload=workload)
    problems = [*_check_parents(data, table, place)]
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
    warnings = [*_unknown_fields(data, place)]
    if traffic is not None and not problems:
        for finding in check_sums(traffic, table, place.at("traffic")):
            (problems if finding.level == "error" else warnings).append(finding)
    if problems:
        raise InvalidInput([*problems, *warnings])
    return replace(table, warnings=(*table.warnings, *warnings))


def _unknown_fields(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    yield from check_fields(data, _TOP, place)
    yield from check_fields(data["mesh"], _MESH, place.at("mesh"))
    for index, parent in enumerate(data["parents"]):
        found = list(check_fields(parent, _PARENT, place.at("parents", index)))
        yield from found
        if found:
            break  # a field that every parent has is one finding


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(ROUTES_SCHEMA)


def _check_shape(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    version = data.get("hpplan_routes")
    if isinstance(version, bool):
        message = (
            f"`hpplan_routes` is the version of the format, {ROUTES_VERSION}, and not {kind_of(version)}"
        )
        yield Diagnostic(MALFORMED_ROUTES, message, place.at("hpplan_routes"))
    try:
        # The workload has codes of its own, and is checked by its loader.
        _validator().validate_python({**data, "workload": _ANY_WORKLOAD} if "workload" in data else data)
    except ValidationError as failure:
        for error in failure.errors(include_url=False, include_context=True):
            path = error["loc"]
            name = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "the list element"
            if error["type"] == "missing":
                yield Diagnostic(MALFORMED_ROUTES, f"the field {name} is missing", place.at(*path[:-1]))
            elif path == ("hpplan_routes",):
                yield Diagnostic(
                    MALFORMED_ROUTES,
                    f"the format has version {error['input']}, and this hpplan reads {ROUTES_VERSION}",
                    place.at(*path),
                )
            elif error["type"] == "greater_than_equal":
                message = f"{name} must be at least {error['ctx']['ge']}, not {error['input']}"
                yield Diagnostic(MALFORMED_ROUTES, message, place.at(*path))
            else:
                belongs = _BELONGS.get(error["type"]) or error["msg"].removeprefix("Input should be ")
                message = f"{name} must be {belongs}, not {kind_of(error['input'])}"
                yield Diagnostic(MALFORMED_ROUTES, message, place.at(*path))


_BELONGS = {**BELONGS, "string_pattern_mismatch": "sha256: and 64 hexadecimal digits"}
"""What belongs where the validator reports an error of some type; only the digest has a pattern."""

_ANY_WORKLOAD = {"sequence": {"length": 1}}


def _with_buckets(data: Mapping[str, Any], dp: int) -> dict[str, Any]:
    """Return the workload with the buckets that the table's parents have."""
    workload = dict(data["workload"])
    buckets = [parent["buckets"] for parent in data["parents"]]
    replicas = workload.get("replicas")
    if replicas is not None:
        if len(replicas) == len(buckets) == dp:
            workload["replicas"] = [
                {**replica, "buckets": own} for replica, own in zip(replicas, buckets, strict=True)
            ]
    elif buckets:
        workload["buckets"] = buckets[0]
    return workload


def _in_parents(finding: Diagnostic) -> Diagnostic:
    """Move a finding about buckets to where they stand: in `parents`, and not in the workload."""

    def moved(place: Place) -> Place:
        start, *path = place.path or ("",)
        number = path[1] if path[:1] == ["replicas"] else 0
        rest = path[2:] if path[:1] == ["replicas"] else path
        if start != "workload" or rest[:1] != ["buckets"]:
            return place
        return replace(place, path=("parents", number, *rest))

    return replace(finding, place=moved(finding.place), related=tuple(map(moved, finding.related)))


def _check_parents(data: Mapping[str, Any], table: RoutingTable, place: Place) -> Iterator[Diagnostic]:
    parents = data["parents"]
    where = place.at("parents")
    if len(parents) != len(table.parents):
        message = f"the table has {plural(len(parents), 'parent')}, and the mesh {len(table.parents)}"
        yield Diagnostic(ROUTES_DIFFER, message, where)
        return
    written: dict[int, dict[str, Any]] = {}
    for index, (found, parent) in enumerate(zip(parents, table.parents, strict=True)):
        shared = written.get(id(parent.routes))
        if shared is None:
            shared = written[id(parent.routes)] = _parent_data(parent)
        planned = {"ranks": list(parent.ranks), **shared}
        for name in _PARENT:
            if name in found and name in planned and found[name] != planned[name]:
                yield _first_difference(found[name], planned[name], where.at(index, name))


def _first_difference(found: Any, planned: Any, place: Place) -> Diagnostic:  # noqa: ANN401 - any field
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
        f"mesh and workload give {_spell(belongs)} here, not {_spell(is_there)}",
        here,
        hint="make the table again with `hpplan route`",
    )


def _spell(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004 - what fits a line
