"""LLaVA-NeXT: a base view and the best of five canvases, without its padding, a newline after each line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hpplan.workload.families.base import Family, GridField, Kind, Runs, Size

_PINPOINT = re.compile("([1-9][0-9]{0,8})x([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class LlavaNext(Family):
    """Rows are 24 x 24 for the base view, then lines x columns without padding, and one a line.

    `image_sizes` of a sample lists [height, width] of each image, as the
    processor emits it.

    >>> LlavaNext().from_size("image", Size(width=640, height=480))
    (2340,)
    """

    name: ClassVar[str] = "llava_next"
    summary: ClassVar[str] = "anyres: 576 rows and an unpadded grid with newlines"
    grid_fields: ClassVar[Mapping[str, GridField]] = {"image_sizes": GridField("image", ("height", "width"))}

    image_id: int = 32000
    feature_width: int = 4096
    view_pixels: int = 336
    patch_size: int = 14
    pinpoints: str = "336x672,672x336,672x672,1008x336,336x1008"
    """Canvases as height x width; between equals the first wins."""

    def __post_init__(self) -> None:
        """Refuse views without a patch, and pinpoints that are no canvases."""
        super().__post_init__()
        if self.view_pixels < self.patch_size:
            raise ValueError(f"view_pixels must be at least patch_size, {self.patch_size}")
        for height, width in self._canvases():
            if height % self.view_pixels or width % self.view_pixels:
                raise ValueError(
                    f"the pinpoint {height}x{width} is not made of {self.view_pixels}-pixel views"
                )

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return the rows of an image of a height and width."""
        height, width = grid
        return self.from_size(kind, Size(width, height))

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Fit the image into its canvas, and leave out the padded lines or columns."""
        side = self.view_pixels // self.patch_size
        height, width = self.canvas(size)
        lines = height // self.view_pixels * side
        columns = width // self.view_pixels * side
        # Rounded as the processor does, so that an exact fit is not lost to the last bit of a float.
        if size.width / size.height > columns / lines:
            used = int(round(size.height * (columns / size.width), 7))
            lines -= (lines - used) // 2 * 2
        else:
            used = int(round(size.width * (lines / size.height), 7))
            columns -= (columns - used) // 2 * 2
        return (side * side + lines * columns + lines,)

    @property
    def input_width(self) -> int:
        """Three colours of a view."""
        return 3 * self.view_pixels**2

    def input_rows(self, kind: Kind, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Count views: the whole image, and those of the canvas."""
        size = given if isinstance(given, Size) else Size(given[1], given[0])
        height, width = self.canvas(size)
        return 1 + height * width // self.view_pixels**2

    def canvas(self, size: Size) -> tuple[int, int]:
        """Return the height and width of the canvas that keeps most of the image and wastes least."""
        best = (0, 0)
        kept = wasted = -1
        for height, width in self._canvases():
            scale = min(width / size.width, height / size.height)
            pixels = min(int(size.width * scale) * int(size.height * scale), size.width * size.height)
            waste = height * width - pixels
            if pixels > kept or (pixels == kept and waste < wasted):
                best, kept, wasted = (height, width), pixels, waste
        return best

    def _canvases(self) -> list[tuple[int, int]]:
        canvases = []
        for spelled in self.pinpoints.split(","):
            size = _PINPOINT.fullmatch(spelled.strip())
            if size is None:
                raise ValueError(f"the pinpoint '{spelled}' is not height x width, as in 336x672")
            canvases.append((int(size[1]), int(size[2])))
        return canvases
