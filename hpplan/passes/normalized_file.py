"""A plan that was read from a file and normalized, and the text that goes into a file."""

from __future__ import annotations

import os
from typing import NamedTuple

from hpplan.documents.source import Format, Source
from hpplan.passes.pipeline import Normalized
from hpplan.plan.model import Plan


class FileText(NamedTuple):
    """What goes into a file, what to say about it then, and what it is where no pass did a thing."""

    text: str
    notes: list[str]
    how: str = "written in canonical form"


class NormalizedFile(NamedTuple):
    """One plan, as it was read and as it became; `target` is the file it is normalized into."""

    path: str
    target: str
    before: Plan
    normalized: Normalized
    source: Source

    def canonical(self, format_name: Format | None, target: str | None = None) -> str:
        """Return the canonical text of the normalized plan, as it belongs into the file at `target`."""
        from hpplan.documents.schema_reference import moved_fields, moved_header
        from hpplan.documents.writer import dump_json, dump_yaml
        from hpplan.plan.model import KEY_ORDER

        plan, source = self.normalized.plan, self.source
        data = moved_fields(plan.data, source.name, target)
        if (format_name or source.own_format) == "json":
            return dump_json(data, plan.place)
        return dump_yaml(data, KEY_ORDER, moved_header(source.header, source.name, target))

    def anew(self, format_name: Format | None, target: str, *why: str) -> FileText:
        """Return that text, and which comments the file at `target` loses, if it is the plan's own."""
        source, lost = self.source, None
        if os.path.realpath(target) == os.path.realpath(self.path):
            lost = "comments after the first line of the plan" if source.has_comments else None
            if (format_name or source.own_format) == "json" and source.header:
                lost = "comments"
        notes = [*why, *([f"{lost} were not kept"] if lost else [])]
        return FileText(self.canonical(format_name, target), notes)

    def written(self, format_name: Format | None, *, canonical: bool) -> FileText:
        """Return what goes into the file that the plan is normalized into."""
        from hpplan.documents.source import format_of_name

        if self.target != self.path:
            return self.anew(format_name or format_of_name(self.target), self.target)
        return self.in_place(format_name, canonical=canonical)

    def in_place(self, format_name: Format | None, *, canonical: bool) -> FileText:
        """Return the plan's own text with the changes of the passes in it, unless it is to be anew."""
        from hpplan.documents.editing.anchors import same
        from hpplan.documents.editing.editor import edited
        from hpplan.plan.model import KEY_ORDER

        source, before, after = self.source, self.before.data, self.normalized.plan.data
        keeps_format = (format_name or source.own_format) == source.format
        if canonical or not (keeps_format or (format_name is None and same(before, after))):
            return self.anew(format_name, self.path)
        edit = edited(source, before, after, KEY_ORDER)
        if edit.text is None:
            return self.anew(format_name, self.path, f"written in canonical form: {edit.notes[0]}")
        return FileText(edit.text, edit.notes, "the normalization record taken out")
