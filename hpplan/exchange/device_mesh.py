"""A trainer's DeviceMesh, read as the mesh of routes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from hpplan.errors import UnusableRequest
from hpplan.routing.mesh import AXES, Mesh
from hpplan.wording import some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.distributed import DeviceMesh

NAMES: dict[str, str] = {
    "pp": "pp",
    "dp": "dp",
    "ddp": "dp",
    "fsdp": "dp",
    "dp_replicate": "dp",
    "dp_shard": "dp",
    "cp": "cp",
    "context": "cp",
    "ulysses": "cp",
    "tp": "tp",
    "model": "tp",
}
"""Names that trainers give to dimensions of a DeviceMesh, and the axis that each is or is a part of."""


class _Dimension(NamedTuple):
    name: str
    axis: str
    size: int
    stride: int
    """How far apart neighbours are in global ranks."""


def mesh_of(device_mesh: DeviceMesh, sp: bool, axes: Mapping[str, str] | None = None) -> Mesh:
    """Return the mesh whose coordinates are those of a DeviceMesh over the whole job.

    `axes` says what names beside NAMES stand for: one of pp, dp, cp, tp.
    Dimensions may stand in any order, and several may make up one axis, the
    first of them outermost. Raises UnusableRequest for a mesh of a part of the
    job, a dimension of an unknown name, and an order of ranks that no mesh of
    hpplan has.
    """
    dimensions = _dimensions(device_mesh, {**NAMES, **(axes or {})})
    ordered = sorted((one for one in dimensions if one.size > 1), key=lambda one: -one.stride)
    sizes: dict[str, int] = {}
    for dimension in ordered:
        sizes[dimension.axis] = sizes.get(dimension.axis, 1) * dimension.size
    mesh = Mesh(sizes, sp)
    _check(mesh, dimensions, device_mesh)
    return mesh


def _dimensions(device_mesh: DeviceMesh, names: Mapping[str, str]) -> list[_Dimension]:
    if device_mesh.mesh_dim_names is None:
        raise UnusableRequest(
            "the dimensions of the DeviceMesh have no names; make it with "
            "init_device_mesh(..., mesh_dim_names=...)"
        )
    ranks = device_mesh.mesh
    dimensions = []
    for number, name in enumerate(device_mesh.mesh_dim_names):
        axis = names.get(name)
        if axis not in AXES:
            what = (
                f"`{name}` of the DeviceMesh is no name that hpplan knows"
                if axis is None
                else f"`{axis}` is no axis"
            )
            raise UnusableRequest(f"{what}; say which of {', '.join(AXES)} it is: axes={{{name!r}: 'dp'}}")
        along = ranks.movedim(number, 0).reshape(ranks.shape[number], -1)[:, 0].tolist()
        stride = along[1] - along[0] if len(along) > 1 else 0
        dimensions.append(_Dimension(name, axis, len(along), stride))
    return dimensions


def _check(mesh: Mesh, dimensions: list[_Dimension], device_mesh: DeviceMesh) -> None:
    """Refuse a DeviceMesh where any rank has other coordinates than in the mesh."""
    ranks = device_mesh.mesh.flatten().tolist()
    if sorted(ranks) != list(range(len(ranks))):
        raise UnusableRequest(
            f"the DeviceMesh has ranks {some(sorted(ranks))}, not all of a job from rank 0 on; "
            "hand in the whole mesh, not a part of it"
        )
    for position, rank in enumerate(ranks):
        theirs = dict.fromkeys(AXES, 0)
        rest = position
        inner = math.prod(one.size for one in dimensions)
        for dimension in dimensions:
            inner //= dimension.size
            coordinate, rest = divmod(rest, inner)
            theirs[dimension.axis] = theirs[dimension.axis] * dimension.size + coordinate
        ours = mesh.coordinates(rank)
        if ours != theirs:
            raise UnusableRequest(
                f"rank {rank} is at {_spelled(theirs)} of the DeviceMesh, and hpplan would take it "
                f"for that at {_spelled(ours)}; a dimension must step through ranks evenly, "
                "and those that make up one axis must lie beside each other, outermost first"
            )


def _spelled(coordinates: Mapping[str, int]) -> str:
    return ", ".join(f"{axis}={at}" for axis, at in coordinates.items())
