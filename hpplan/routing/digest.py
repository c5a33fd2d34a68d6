"""What ranks compare before they exchange: one digest for the same routes, however they were planned.

A digest covers the axes above 1 in their order, the pool, sp where there is tp, the mode, the granularity
where the mode heeds it, `encoder_cp_size`, the padded length, the layout and its documents; and of each
parent the buckets in order, each item with its id, batch row, rows and tokens, in a pool with its replica,
and the destinations that override ownership. Ranks, transfers and positions follow from these by rules that
`ROUTES_VERSION` stands for. A table's digest also covers what a row is: width, dtype and payloads. An
exchange's does not, as features come with each call, and the ranks agree on them then; it counts rows as
those of a workload that does not say.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from hpplan.routing.modes import mode_of
from hpplan.routing.transfers import ROUTES_VERSION
from hpplan.shapes.shape import values
from hpplan.workload.shape import HEAD_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.routing.fit import Fit, Share
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.transfers import BatchRoutes, Granularity
    from hpplan.workload.workload import Workload

_DEFAULTS = values(HEAD_FIELDS, {})
_Row = tuple[int | str, ...]
"""Width, dtype and payloads of features; in a pool also width and dtype of inputs."""

_ANY_ROW = (_DEFAULTS["feature_width"], _DEFAULTS["dtype"], _DEFAULTS["payloads"])
"""Of a workload that does not say."""


def table_digest(
    mesh: Mesh, workload: Workload, fitted: Fit, granularity: Granularity, parents: Sequence[BatchRoutes]
) -> str:
    """Return `sha256:…` of the routes of every parent, and of what a row is."""
    row: _Row = (workload.feature_width, workload.dtype, workload.payloads)
    if mesh.pool > 1:
        row = (*row, workload.input_width, workload.input_dtype)
    return _digest(mesh, workload, fitted.length, fitted.shares, granularity, row, parents)


def exchange_digest(
    mesh: Mesh, workload: Workload, fitted: Fit, granularity: Granularity, share: Share, routes: BatchRoutes
) -> str:
    """Return `sha256:…` of the routes of one parent: that of a table in which every parent has these."""
    return _digest(
        mesh, workload, fitted.length, [share], granularity, _ANY_ROW, [routes] * mesh.parent_count
    )


def _digest(
    mesh: Mesh,
    workload: Workload,
    length: int,
    shares: Sequence[Share],
    granularity: Granularity,
    row: _Row,
    parents: Sequence[BatchRoutes],
) -> str:
    mode = mode_of(mesh)
    documents = [[one for one in padding.documents if one] for share in shares for padding in share.paddings]
    alike = all(one == documents[0] for one in documents)
    lines = [
        _line(
            [
                ROUTES_VERSION,
                *mesh.shape,
                mode.name,
                _heeded(mesh, granularity),
                [*row, workload.encoder_cp_size, *(["sharded"] if workload.sharded else [])],
                [length, workload.cp_layout, documents[0] if alike else documents],
            ]
        )
    ]
    by_content: dict[bytes, bytes] = {}
    by_routes: dict[int, bytes] = {}
    for number, routes in enumerate(parents):
        if id(routes) not in by_routes:
            content = _content(routes)
            if content not in by_content:
                by_content[content] = by_routes[id(routes)] = _line({"same as": number})
                lines.append(content)
                continue
            by_routes[id(routes)] = by_content[content]
        lines.append(by_routes[id(routes)])
    return f"sha256:{hashlib.sha256(b''.join(lines)).hexdigest()}"


def _heeded(mesh: Mesh, granularity: Granularity) -> Granularity:
    """Return the granularity whose routes these are: some meshes have the same ones in several."""
    if mode_of(mesh).collective != "all_to_all":
        return "record"
    copies = mesh.tp > 1 and not mesh.sp
    return "row" if granularity == "once" and not copies else granularity


def _content(routes: BatchRoutes) -> bytes:
    explicit = [[item, sorted(ranks)] for item, ranks in sorted(routes.explicit.items())]
    told = 6 if routes.ownership.pooled else 4
    buckets = [[item[:told] for item in bucket] for bucket in routes.buckets]
    return b"".join(map(_line, [*buckets, explicit]))


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
