"""InternVL: 448-pixel tiles by aspect ratio, 256 rows each, and a thumbnail beside several tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from hpplan.workload.families.base import Family, GridField, Kind, Runs, Size


@dataclass(frozen=True)
class InternVL(Family):
    """Rows are 256 a tile: (448 / 14)^2 patches, a quarter of them after pixel shuffle.

    `num_patches` of a sample lists the tiles of each image, thumbnail
    included. A video is one tile and one run a frame.

    >>> InternVL().from_size("image", Size(448, 448)), InternVL().from_size("image", Size(896, 448))
    ((256,), (768,))
    """

    name: ClassVar[str] = "internvl"
    summary: ClassVar[str] = "256 rows a 448-pixel tile, up to 12 tiles and a thumbnail"
    grid_fields: ClassVar[Mapping[str, GridField]] = {
        "num_patches": GridField("image", ("tiles",)),
        "num_frames": GridField("video", ("frames",)),
    }
    least: ClassVar[Mapping[str, int]] = {**Family.least, "thumbnail": 0}
    most: ClassVar[Mapping[str, int]] = {"max_tiles": 1000}

    image_id: int = 151667
    video_id: int = 151667
    feature_width: int = 3584
    tile_pixels: int = 448
    tile_rows: int = 256
    min_tiles: int = 1
    max_tiles: int = 12
    thumbnail: int = 1
    """Tiles that are added to an image of several tiles."""

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return 256 rows a tile: one run for an image, a run a frame for a video."""
        if kind == "image":
            return (grid[0] * self.tile_rows,)
        return (self.tile_rows,) * grid[0]

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Choose the tiles of an image; a video has one a frame."""
        if kind == "video":
            return self.from_grid(kind, (size.frames,))
        columns, rows = self.tiles(size)
        tiles = columns * rows
        return self.from_grid(kind, (tiles + self.thumbnail if tiles > 1 else tiles,))

    def tiles(self, size: Size) -> tuple[int, int]:
        """Return the columns and rows of tiles whose aspect ratio is nearest to that of the image.

        Of two that are equally near, the larger is taken while the image fills
        more than half of it.
        """
        aspect = size.width / size.height
        area = size.width * size.height
        best, nearest = (1, 1), float("inf")
        for columns, rows in _arrangements(self.min_tiles, self.max_tiles):
            difference = abs(aspect - columns / rows)
            fills = area > 0.5 * self.tile_pixels**2 * columns * rows
            if difference < nearest or (difference == nearest and fills):
                best, nearest = (columns, rows), difference
        return best

    @property
    def input_width(self) -> int:
        """Three colours of a tile."""
        return 3 * self.tile_pixels**2

    def input_rows(self, kind: Kind, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Count tiles."""
        return sum(runs) // self.tile_rows

    def text_around(self, kind: Kind, run: int, runs: int, size: Size) -> tuple[int, int]:
        """Count `<img>` and `</img>`; in a video also `Frame12: ` before, and a line break between frames."""
        if kind == "image":
            return 1, 1
        return len(("Frame", ":", " ")) + len(str(run + 1)) + 1, 1 if run == runs - 1 else 2


@cache
def _arrangements(min_tiles: int, max_tiles: int) -> tuple[tuple[int, int], ...]:
    """Return every (columns, rows) with an allowed number of tiles, fewest first."""
    arrangements = [
        (columns, rows)
        for columns in range(1, max_tiles + 1)
        for rows in range(1, max_tiles // columns + 1)
        if columns * rows >= min_tiles
    ]
    return tuple(sorted(arrangements, key=lambda tiles: (tiles[0] * tiles[1], tiles)))
