"""Qwen3-VL: 16-pixel patches, a run of placeholders for each video frame, and DeepStack payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hpplan.wording import plural
from hpplan.workload.families.base import Kind, Runs, Size, frame_time, merged_rows
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
    cap_pixels_per_frame: int = 0
    """1: a frame has its share of `video_max_pixels`, and `max_video_tokens` rows, as in qwen-vl-utils."""
    max_video_tokens: int = 768
    """Rows of a frame where pixels per frame are capped."""
    outer_markers: int = 1
    """1: a pair of markers stays around the whole video, as since transformers 5; 0: as before."""

    least: ClassVar[Mapping[str, int]] = {**Qwen2VL.least, "cap_pixels_per_frame": 0, "outer_markers": 0}
    most: ClassVar[Mapping[str, int]] = {"cap_pixels_per_frame": 1, "outer_markers": 1}

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
        if size.frames < self.temporal_patch:
            raise ValueError(
                f"a video of {plural(size.frames, 'frame')} is shorter than the temporal patch of "
                f"{self.temporal_patch}, and the processor refuses it"
            )
        factor = self.patch_size * self.merge_size
        most = self.video_max_pixels
        if self.cap_pixels_per_frame:
            share = min(self.max_video_tokens * factor**2, self.video_max_pixels // size.frames)
            most = max(share, int(self.video_min_pixels * 1.05)) * size.frames
        enlarge = max(1.0, factor / size.height, factor / size.width)
        # The processor rounds halves to even here, though it always pads to a full patch later.
        steps = max(1, round(size.frames / self.temporal_patch)) * self.temporal_patch
        return smart_resize(
            int(size.height * enlarge),
            int(size.width * enlarge),
            factor,
            self.video_min_pixels,
            most,
            frames=size.frames,
            steps=steps,
        )

    def text_around(self, kind: Kind, run: int, runs: int, size: Size) -> tuple[int, int]:
        """Count the vision markers and, in a video, `<12.5 seconds>`: a token a character of the number.

        The time is the mean of those of the first and the last frame of a
        temporal patch, the last one of a video repeated until that is full.
        """
        if kind == "image":
            return 1, 1
        ends = (run * self.temporal_patch, (run + 1) * self.temporal_patch - 1)
        first, last = (frame_time(size, min(frame, size.frames - 1)) for frame in ends)
        number = f"{(first + last) / 2:.1f}"
        before = len(number) + len(("<", " seconds", ">")) + 1
        return before + self.outer_markers * (run == 0), 1 + self.outer_markers * (run == runs - 1)
