"""Qwen3-VL: 16-pixel patches, a run of placeholders for each video frame, and DeepStack payloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hpplan.workload.families.base import Kind, Runs, Size, merged_rows
from hpplan.workload.families.qwen2_vl import Qwen2VL
from hpplan.workload.families.resize import smart_resize


@dataclass(frozen=True)
class Qwen3VL(Qwen2VL):
    """A video is t runs of h x w / merge_size^2 rows, each behind its timestamp.

    Width and payloads are those of Qwen3-VL-30B-A3B: the features themselves
    and three DeepStack levels.

    >>> Qwen3VL().from_grid("video", (3, 4, 6))
    (6, 6, 6)
    """

    name: ClassVar[str] = "qwen3_vl"
    summary: ClassVar[str] = "t*h*w/4 rows of 16-pixel patches; a video is one run per frame"

    feature_width: int = 2048
    payloads: int = 4
    patch_size: int = 16
    min_pixels: int = 256 * 256
    max_pixels: int = 4096 * 4096
    video_min_pixels: int = 4096
    """Of all frames together."""
    video_max_pixels: int = 24576 * 32 * 32
    """Of all frames together."""

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return one run for an image, and a run for each step of a video."""
        if kind == "image":
            return super().from_grid(kind, grid)
        steps, height, width = grid
        return (merged_rows(height, width, self.merge_size),) * steps

    def resized(self, kind: Kind, size: Size) -> tuple[int, int]:
        """Bound an image by its area and a video by its volume."""
        if kind == "image":
            return super().resized(kind, size)
        factor = self.patch_size * self.merge_size
        enlarge = max(1.0, factor / size.height, factor / size.width)
        # The processor rounds halves to even here, though it always pads to a full patch later.
        steps = max(1, round(size.frames / self.temporal_patch)) * self.temporal_patch
        return smart_resize(
            int(size.height * enlarge),
            int(size.width * enlarge),
            factor,
            self.video_min_pixels,
            self.video_max_pixels,
            frames=size.frames,
            steps=steps,
        )

    def text_around(self, kind: Kind, run: int, size: Size) -> tuple[int, int]:
        """Count the vision markers and, in a video, `<12.5 seconds>`: a token a character of the number."""
        if kind == "image":
            return 1, 1
        middle = run * self.temporal_patch + (self.temporal_patch - 1) / 2
        number = f"{middle / size.fps:.1f}"
        return len(number) + len(("<", " seconds", ">")) + 1, 1
