"""Qwen2-VL: native resolution in 14-pixel patches, 2 x 2 of them merged into a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hpplan.workload.families.base import (
    THW,
    Family,
    GridField,
    Kind,
    Runs,
    Size,
    merged_rows,
    temporal_steps,
)
from hpplan.workload.families.resize import smart_resize


@dataclass(frozen=True)
class Qwen2VL(Family):
    """Rows of an image or video are t x h x w / merge_size^2, in one run.

    >>> Qwen2VL().from_grid("image", (1, 52, 94))
    (1222,)
    >>> Qwen2VL().from_size("image", Size(448, 448)), Qwen2VL().from_size("image", Size(224, 224))
    ((256,), (64,))
    """

    name: ClassVar[str] = "qwen2_vl"
    summary: ClassVar[str] = "t*h*w/4 rows of 14-pixel patches; a video is one run"
    grid_fields: ClassVar[Mapping[str, GridField]] = {
        "image_grid_thw": GridField("image", THW),
        "video_grid_thw": GridField("video", THW),
    }

    image_id: int = 151655
    video_id: int = 151656
    feature_width: int = 3584
    patch_size: int = 14
    merge_size: int = 2
    temporal_patch: int = 2
    min_pixels: int = 56 * 56
    max_pixels: int = 28 * 28 * 16384
    video_min_pixels: int = 28 * 28 * 128
    """Of one frame."""
    video_max_pixels: int = 28 * 28 * 768
    """Of one frame."""

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return one run of t x h x w / merge_size^2 rows."""
        steps, height, width = grid
        return (steps * merged_rows(height, width, self.merge_size),)

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Resize as the processor does, and cut into patches."""
        steps = temporal_steps(size.frames, self.temporal_patch)
        height, width = self.resized(kind, size)
        grid = (height // self.patch_size, width // self.patch_size)
        return self.from_grid(kind, (steps, *grid))

    def resized(self, kind: Kind, size: Size) -> tuple[int, int]:
        """Return height and width of every frame after resizing."""
        bounds = (
            (self.min_pixels, self.max_pixels)
            if kind == "image"
            else (self.video_min_pixels, self.video_max_pixels)
        )
        return smart_resize(size.height, size.width, self.patch_size * self.merge_size, *bounds)

    @property
    def input_width(self) -> int:
        """Three colours of a patch of `temporal_patch` frames."""
        return 3 * self.temporal_patch * self.patch_size**2

    def input_rows(self, kind: Kind, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Count patches: `merge_size` x `merge_size` of them become a row."""
        return sum(runs) * self.merge_size**2

    def slices(self, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Count temporal patches: attention stays inside each, as `cu_seqlens` has h x w for each of t."""
        return temporal_steps(given.frames, self.temporal_patch) if isinstance(given, Size) else given[0]

    def text_around(self, kind: Kind, run: int, runs: int, size: Size) -> tuple[int, int]:
        """Count `<|vision_start|>` (151652) before and `<|vision_end|>` (151653) after."""
        return 1, 1
