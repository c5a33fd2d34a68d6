"""Layouts of a plan, {axis: placement}, as torch's DTensor has them, and a rank's part of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from hpplan.plan.placement import REPLICATE, parse_placement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Placement

    from hpplan.plan import placement

Layout = dict[str, str]
"""Axis to placement, as in a plan."""


class UnevenError(Exception):
    """An axis cuts a dimension into parts of several sizes, or inside what it is made of."""


@dataclass(frozen=True)
class Ranks:
    """The ranks that prove together: the axes of the mesh that are above 1, outermost first."""

    device_mesh: DeviceMesh
    sizes: Mapping[str, int]
    sp: bool

    @property
    def coordinates(self) -> dict[str, int]:
        """This rank's place on each axis."""
        at = self.device_mesh.get_coordinate()
        assert at is not None
        return dict(zip(self.sizes, at, strict=True))

    @property
    def stream(self) -> Layout:
        """How activations lie between layers, `[batch rows, tokens, width]`."""
        return {axis: "S(1)" if axis == "cp" or self.sp else "R" for axis in self.sizes}

    def placements(self, layout: Mapping[str, str]) -> list[Placement]:
        """Return a layout as DTensor's; raises ValueError for what an activation cannot have."""
        return [_of_torch(_placed(layout, axis)) for axis in self.sizes]

    def part(self, whole: torch.Tensor, layout: Mapping[str, str]) -> torch.Tensor:
        """Return what this rank has of a tensor, a copy; of a sum the first rank has all.

        Raises UnevenError where an axis does not divide a dimension.
        """
        own = whole
        for axis, at in self.coordinates.items():
            size, placed = self.sizes[axis], _placed(layout, axis)
            if placed.kind == "P":
                own = own if at == 0 else torch.zeros_like(own)
            elif placed.dim is not None:
                own = _cut(own, placed, axis, size, at)
        return own.clone().contiguous()

    def parts(self, wholes: list[torch.Tensor], layouts: list[Layout]) -> list[torch.Tensor]:
        """Return what this rank has of each of several tensors."""
        return [self.part(whole, layout) for whole, layout in zip(wholes, layouts, strict=True)]

    def moved(
        self,
        local: torch.Tensor,
        source: Mapping[str, str],
        target: Mapping[str, str],
        gradient: Mapping[str, str] | None = None,
    ) -> torch.Tensor:
        """Return a local tensor redistributed; its gradient arrives as `gradient` lays it out."""
        moved = DTensor.from_local(
            local, self.device_mesh, self.placements(source), run_check=False
        ).redistribute(placements=self.placements(target))
        laid = None if gradient is None else self.placements(gradient)
        return moved.to_local(grad_placements=laid)

    def together(self, *, well: bool) -> bool:
        """Whether all is well on every rank."""
        import torch.distributed as dist

        said = torch.tensor([int(well)])
        dist.all_reduce(said, op=dist.ReduceOp.MIN)
        return bool(said.item())

    def largest(self, number: float) -> float:
        """Return the largest of all ranks' numbers."""
        import torch.distributed as dist

        said = torch.tensor([number], dtype=torch.float64)
        dist.all_reduce(said, op=dist.ReduceOp.MAX)
        return float(said.item())

    def summed(self, local: torch.Tensor, axis: str) -> torch.Tensor:
        """Return the sum over an axis."""
        import torch.distributed as dist

        total = local.clone().contiguous()
        dist.all_reduce(total, group=self.device_mesh.get_group(axis))
        return total


def _placed(layout: Mapping[str, str], axis: str) -> placement.Placement:
    return parse_placement(layout[axis]) if axis in layout else REPLICATE


def _of_torch(placed: placement.Placement) -> Any:  # noqa: ANN401 - one of torch's placements
    if placed.kind == "R":
        return Replicate()
    if placed.kind == "P":
        return Partial(placed.op or "sum")
    if placed.kind == "S" and placed.dim is not None:
        return Shard(placed.dim)
    raise ValueError("an activation cannot be split in strides")


def _cut(whole: torch.Tensor, placed: placement.Placement, axis: str, size: int, at: int) -> torch.Tensor:
    """Return one of `size` parts; of a strided split the same part of each of its blocks."""
    dim, blocks = placed.dim or 0, placed.factor or 1
    if dim >= whole.ndim:
        raise UnevenError(f"there is no dimension {dim}: it has {whole.ndim}")
    if whole.shape[dim] % (size * blocks):
        raise UnevenError(f"{axis}={size} does not divide dimension {dim}, which has {whole.shape[dim]}")
    parts = [block.chunk(size, dim)[at] for block in whole.chunk(blocks, dim)]
    return torch.cat(parts, dim)
