"""A plan in `hpplan normalize`: as it was read, as it became, and the text that goes into its file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.diagnostics import Place
    from hpplan.documents.scalars import Data
    from hpplan.documents.source import Format, Source
    from hpplan.passes.pipeline import Normalized
    from hpplan.plan.model import Plan


class Put(NamedTuple):
    """What goes into a file, what to say about it then, and what it is where no pass did a thing."""

    text: str
    notes: list[str]
    how: str = "written in canonical form"


class Run(NamedTuple):
    """One plan, as it was read and as it became; `target` is the file it is normalized into."""

    path: str
    target: str
    before: Plan
    after: Plan
    normalized: Normalized
    source: Source

    def text(self, format_name: Format | None, target: str | None = None) -> str:
        """Return the canonical text of the normalized plan, as it belongs into the file at `target`."""
        from hpplan.documents.schema_reference import moved_fields, moved_header

        data = moved_fields(self.after.data, self.source.name, target)
        header = moved_header(self.source.header, self.source.name, target)
        return canonical_text(data, self.after.place, format_name or self.source.own_format, header)

    def anew(self, format_name: Format | None, target: str, *why: str) -> Put:
        """Return that text, and which comments the file at `target` loses, if it is the plan's own."""
        source, text, lost = self.source, self.text(format_name, target), None
        if os.path.realpath(target) == os.path.realpath(self.path):
            lost = "comments after the first line of the plan" if source.has_comments else None
            if (format_name or source.own_format) == "json" and source.header:
                lost = "comments"
        return Put(text, [*why, *([f"{lost} were not kept"] if lost else [])])

    def written(self, format_name: Format | None, *, canonical: bool) -> Put:
        """Return what goes into the file that the plan is normalized into."""
        from hpplan.documents.source import format_of_name

        if self.target != self.path:
            return self.anew(format_name or format_of_name(self.target), self.target)
        return self.in_place(format_name, canonical=canonical)

    def in_place(self, format_name: Format | None, *, canonical: bool) -> Put:
        """Return the plan's own text with the changes of the passes in it, unless it is to be anew."""
        from hpplan.documents.editing.anchors import same
        from hpplan.documents.editing.editor import edited
        from hpplan.plan.model import KEY_ORDER

        source, before, after = self.source, self.before.data, self.after.data
        keeps_format = (format_name or source.own_format) == source.format
        if canonical or not (keeps_format or (format_name is None and same(before, after))):
            return self.anew(format_name, self.path)
        found = edited(source, before, after, KEY_ORDER)
        if found.text is None:
            return self.anew(format_name, self.path, f"written in canonical form: {found.notes[0]}")
        return Put(found.text, found.notes, "the normalization record taken out")


def canonical_text(data: Mapping[str, Data], place: Place, format_name: Format, header: str = "") -> str:
    """Return a plan's canonical text, in YAML after the comments of `header`; `place` is its place."""
    from hpplan.documents.writer import dump_json, dump_yaml
    from hpplan.plan.model import KEY_ORDER

    if format_name == "json":
        return dump_json(data, place)
    return dump_yaml(data, KEY_ORDER, header)
