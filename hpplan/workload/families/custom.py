"""A family of one's own: placeholder ids by option, rows with each image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hpplan.workload.families.base import Family, GridField, Kind, Runs, Size


@dataclass(frozen=True)
class Custom(Family):
    """`image_rows` and `video_rows` of a sample list the rows of each; a list of rows means several runs.

    An image of which only the size is known has `rows` rows, where that option
    is given.

    >>> Custom().from_grid("video", (4, 4))
    (4, 4)
    """

    name: ClassVar[str] = "custom"
    summary: ClassVar[str] = "rows given with each image; give --image-id and --video-id"
    grid_fields: ClassVar[Mapping[str, GridField]] = {
        "image_rows": GridField("image", ()),
        "video_rows": GridField("video", ()),
    }
    least: ClassVar[Mapping[str, int]] = {**Family.least, "rows": 0}

    rows: int = 0
    """Rows of an image or of a frame of a video; 0: not known."""

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return the rows of each run as they are given."""
        return grid

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Return `rows` for an image, and a run of them for each frame."""
        if self.rows < 1:
            raise ValueError(
                f"its rows do not follow from its size; give them as `{kind}_rows`, or with --set rows=N"
            )
        return (self.rows,) * size.frames
