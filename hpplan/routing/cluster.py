"""`links.yaml`: what the ranks of a cluster are connected with, and how fast they copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import core_schema

from hpplan.diagnostics import Diagnostic, Place
from hpplan.errors import InvalidInput
from hpplan.routing.cluster_codes import MALFORMED_LINKS, NO_LINK_BETWEEN_NODES, UNKNOWN_LINKS_FIELD
from hpplan.routing.request import FASTEST, LONGEST, SLOWEST
from hpplan.shapes.findings import Checker, Codes, ignored, kind_of
from hpplan.shapes.shape import Field, Shape, count, key_order, told, written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core.core_schema import CoreSchema

_NOWHERE = Place("links")
"""Where findings are about data that no document has."""


def _number(least: float, most: float, what: str) -> CoreSchema:
    def out_of_range(name: str, found: object, place: Place) -> Diagnostic:
        message = f"{name} must be {what} from {least:g} to {most:g}, not {kind_of(found)}"
        return Diagnostic(MALFORMED_LINKS, message, place)

    schema = core_schema.float_schema(strict=True, ge=least, le=most, allow_inf_nan=False)
    faults = ("greater_than_equal", "less_than_equal", "finite_number")
    return told(schema, **dict.fromkeys(faults, out_of_range))


_SPEED = _number(SLOWEST, FASTEST, "GB/s")
LINK_KIND = Shape(
    None,
    Field("bandwidth", _SPEED, "Of one such link, each way, in 10^9 bytes/s.", required=True),
    Field(
        "latency",
        _number(0.0, LONGEST, "microseconds"),
        "Of an exchange with each peer at the other end, in microseconds.",
        default=0.0,
    ),
    Field(
        "shared_by",
        count(1),
        "Ranks of a node, one after the other, that share one such link.",
        default=1,
    ),
    Field(
        "rank_bandwidth",
        _SPEED,
        "What one rank alone gets of a link, each way, in 10^9 bytes/s, where its core is too slow for more.",
    ),
    Field(
        "two_way",
        _number(0.0, 1.0, "a part"),
        "How much of what goes the other way holds up what a link carries: nothing, 0, where it does both at "
        "once, and all, 1, where it does one after the other.",
        default=0.0,
    ),
    unknown="told",
)
LINKS = Shape(
    "Links",
    Field("ranks_per_node", count(1), "Ranks of one node; those of a node follow each other.", required=True),
    Field(
        "within_node",
        LINK_KIND.schema,
        "The links between ranks of one node.",
        required=True,
        get=lambda cluster: written(LINK_KIND.fields, cluster.within_node),
    ),
    Field(
        "between_nodes",
        LINK_KIND.schema,
        "The links of a node's ranks to other nodes. Absent: there is one node.",
        get=lambda cluster: (
            None if cluster.between_nodes is None else written(LINK_KIND.fields, cluster.between_nodes)
        ),
    ),
    Field("copy", _SPEED, "How fast a rank packs rows into a buffer, in 10^9 bytes/s.", required=True),
    Field(
        "copies_at_once",
        count(1),
        "Ranks of a node that copy so fast at once, as many as it has cores for. Absent: all of them.",
    ),
    unknown="told",
)
KEY_ORDER = key_order(LINKS)
"""Where the writer follows the order of fields in a document of links."""

check_links = Checker(
    LINKS, Codes(missing=MALFORMED_LINKS, mistyped=MALFORMED_LINKS, unknown=ignored(UNKNOWN_LINKS_FIELD))
)


class Carried(NamedTuple):
    """What links of one kind carry in one collective, in bytes."""

    links: frozenset[tuple[int, int]]
    """One way, and the other: the more first; links that carry the same once."""
    of_rank: int
    """The most that one rank sends or receives."""

    @property
    def most(self) -> int:
        """The most that a link carries one way."""
        return max(self.links, default=(0, 0))[0]

    @property
    def least(self) -> int:
        """What that link carries the other way."""
        return max(self.links, default=(0, 0))[1]


class LinkKind(NamedTuple):
    """Links of one kind."""

    bandwidth: float
    """GB/s of one link, each way."""
    latency: float = 0.0
    """Microseconds, with each peer."""
    shared_by: int = 1
    """Ranks that share one link."""
    two_way: float = 0.0
    """How much of what goes the other way holds up what it carries."""
    rank_bandwidth: float | None = None
    """GB/s that one rank alone gets of it; None: all."""

    def seconds(self, carried: Carried) -> float:
        """Return the time of the slowest link, or of the rank that alone does not fill one."""
        most = max((most + self.two_way * least for most, least in carried.links), default=0)
        seconds = most / self.bandwidth / 1e9
        if self.rank_bandwidth is None:
            return seconds
        return max(seconds, carried.of_rank / self.rank_bandwidth / 1e9)


class Cluster(NamedTuple):
    """What `links.yaml` says."""

    ranks_per_node: int
    within_node: LinkKind
    copy: float
    """GB/s of packing."""
    between_nodes: LinkKind | None = None
    """None where there is one node."""
    copies_at_once: int | None = None
    """Ranks of a node that copy so fast at once; None: all."""
    place: Place = _NOWHERE
    warnings: tuple[Diagnostic, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Return the links as a document."""
        return written(LINKS.fields, self)

    def check_reach(self, world_size: int) -> None:
        """Raise InvalidInput where so many ranks are on several nodes, and nothing says what joins them."""
        if self.between_nodes is None and world_size > self.ranks_per_node:
            message = (
                f"{world_size:,} ranks are on several nodes of {self.ranks_per_node:,}, "
                "and `between_nodes` is missing"
            )
            hint = "measure on several nodes with `hpplan exec --calibrate`, or correct `ranks_per_node`"
            raise InvalidInput([Diagnostic(NO_LINK_BETWEEN_NODES, message, self.place, hint)])


def cluster_from_data(data: Mapping[str, Any], place: Place = _NOWHERE) -> Cluster:
    """Return the links that a document says; raise InvalidInput with everything that is wrong with them."""
    findings = list(check_links(data, place))
    if any(finding.level == "error" for finding in findings):
        raise InvalidInput(findings)
    between = data.get("between_nodes")
    return Cluster(
        data["ranks_per_node"],
        _link_kind(data["within_node"]),
        float(data["copy"]),
        None if between is None else _link_kind(between),
        data.get("copies_at_once"),
        place,
        tuple(findings),
    )


def _link_kind(data: Mapping[str, Any]) -> LinkKind:
    known = {name: data[name] for name in LinkKind._fields if name in data}
    return LinkKind(**known)
