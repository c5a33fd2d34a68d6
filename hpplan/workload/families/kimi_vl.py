"""Kimi-VL: native resolution in 14-pixel patches with a limit on patches, 2 x 2 of them merged into a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hpplan.workload.families.base import Family, GridField, Kind, Runs, Size, merged_rows


@dataclass(frozen=True)
class KimiVL(Family):
    """Rows are h x w / merge_size^2. `image_grid_hws` of a sample lists [h, w] in patches of each image.

    >>> KimiVL().from_grid("image", (32, 46)), KimiVL().from_size("image", Size(width=640, height=448))
    ((368,), (368,))
    """

    name: ClassVar[str] = "kimi_vl"
    summary: ClassVar[str] = "h*w/4 rows of 14-pixel patches, at most 4096 patches an image"
    grid_fields: ClassVar[Mapping[str, GridField]] = {"image_grid_hws": GridField("image", ("h", "w"))}

    image_id: int = 163605
    feature_width: int = 2048
    patch_size: int = 14
    merge_size: int = 2
    max_patches: int = 4096
    max_side: int = 512
    """Patches along a side from which positions are not embedded."""

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return h x w / merge_size^2 rows."""
        return (merged_rows(grid[0], grid[1], self.merge_size),)

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Shrink to the limit on patches, and pad right and below until the patches can be merged."""
        width, height = size.width, size.height
        patches = (width // self.patch_size) * (height // self.patch_size)
        if patches > self.max_patches:
            scale = math.sqrt(self.max_patches / patches)
            width, height = int(width * scale), int(height * scale)
        step = self.patch_size * self.merge_size
        longest = -(-max(width, height) // step) * self.merge_size
        if longest >= self.max_side:
            raise ValueError(
                f"{size} is {longest} patches long, and the processor refuses {self.max_side} and more"
            )
        return self.from_grid(kind, tuple(-(-side // step) * self.merge_size for side in (height, width)))

    @property
    def input_width(self) -> int:
        """Three colours of a patch."""
        return 3 * self.patch_size**2

    def input_rows(self, kind: Kind, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Count patches: `merge_size` x `merge_size` of them become a row."""
        return sum(runs) * self.merge_size**2

    def text_around(self, kind: Kind, run: int, runs: int, size: Size) -> tuple[int, int]:
        """Count `<|media_start|>`, `image` and `<|media_content|>` before, `<|media_end|>` after."""
        return 3, 1
