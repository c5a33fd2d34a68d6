"""Kimi K2.5: 14-pixel patches, 2 x 2 of them merged into a row; four frames of a video become one."""

from __future__ import annotations

import math
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


@dataclass(frozen=True)
class KimiK25(Family):
    """Rows are h x w / merge_size^2, whatever t is: the encoder takes the mean over the frames of a chunk.

    The processor cuts a video into chunks of `temporal_patch` frames, and
    `video_grid_thw` of a sample has an entry for each chunk: each is an item.

    >>> KimiK25().from_grid("video", (4, 32, 46)), KimiK25().from_size("image", Size(width=640, height=448))
    ((368,), (368,))
    """

    name: ClassVar[str] = "kimi_k25"
    summary: ClassVar[str] = "h*w/4 rows of 14-pixel patches; a video is one run per chunk of four frames"
    grid_fields: ClassVar[Mapping[str, GridField]] = {
        "image_grid_thw": GridField("image", THW),
        "video_grid_thw": GridField("video", THW),
    }

    image_id: int = 163605
    video_id: int = 163840
    feature_width: int = 7168
    patch_size: int = 14
    merge_size: int = 2
    temporal_patch: int = 4
    max_patches: int = 16384
    video_max_patches: int = 4096
    """Of one frame."""
    max_side: int = 512
    """Patches along a side."""

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return one run of h x w / merge_size^2 rows."""
        steps, height, width = grid
        if kind == "video" and steps > self.temporal_patch:
            raise ValueError(
                f"a chunk of a video has at most {self.temporal_patch} frames, not {steps}; "
                "`video_grid_thw` of this processor has an entry for each chunk"
            )
        return (merged_rows(height, width, self.merge_size),)

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Shrink to the limits on patches, and pad right and below until the patches can be merged."""
        most = self.max_patches if kind == "image" else self.video_max_patches
        whole = max(1, size.height // self.patch_size) * max(1, size.width // self.patch_size)
        longest = self.max_side * self.patch_size
        scale = min(1.0, math.sqrt(most / whole), longest / size.height, longest / size.width)
        step = self.patch_size * self.merge_size
        sides = (min(max(1, int(side * scale)), longest) for side in (size.height, size.width))
        height, width = (-(-side // step) for side in sides)
        chunks = temporal_steps(size.frames, self.temporal_patch) if kind == "video" else 1
        return (height * width,) * chunks

    @property
    def input_width(self) -> int:
        """Three colours of a patch."""
        return 3 * self.patch_size**2

    def input_rows(self, kind: Kind, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Count patches, of each frame of a chunk."""
        patches = runs[0] * self.merge_size**2
        if kind == "image":
            return patches
        return patches * (given.frames if isinstance(given, Size) else given[0])

    def slices(self, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Refuse: the encoder takes the mean over the frames of a chunk, and chunks are items already."""
        raise ValueError(f"{self.name} mixes the frames of a chunk, and its chunks are items already")

    def text_around(self, kind: Kind, run: int, runs: int, size: Size) -> tuple[int, int]:
        """Count `<|media_begin|>`, `image` and `<|media_content|>` before, `<|media_end|>` after.

        Before a chunk of a video stands its time, `00:00:02.500`, of seven tokens.
        """
        media = len(("<|media_begin|>", "image", "<|media_content|>"))
        return media if kind == "image" else media + len(("00", ":", "00", ":", "02", ".", "500")), 1
