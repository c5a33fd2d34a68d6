"""Where a document says which JSON Schema it follows, for when it is written to another folder."""
# pathlib takes longer to import than a plan to write.
# ruff: noqa: PTH100, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hpplan.documents.disk.streams import STDIN, STDIN_NAME

if TYPE_CHECKING:
    from hpplan.documents.scalars import Data

SCHEMA_FIELD = "$schema"
"""The field that editors look at in JSON, which has no comments."""

_COMMENT = re.compile(
    r"^([ \t]*#[ \t]*(?:yaml-language-server:[ \t]*\$schema=|\$schema:[ \t]*))(\S+)", re.MULTILINE
)
_NOT_RELATIVE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\#]")


def moved_header(header: str, source: str, target: str | None) -> str:
    """Return comments of the document called `source` as they belong into the file at `target`.

    >>> moved_header("# yaml-language-server: $schema=../plan.json", "a/plan.yaml", "b/c/plan.yaml")
    '# yaml-language-server: $schema=../../plan.json'
    """
    return _COMMENT.sub(lambda match: match[1] + _moved(match[2], source, target), header)


def moved_fields(data: Mapping[str, Data], source: str, target: str | None) -> dict[str, Data]:
    """Return the fields of the document called `source` as they belong into the file at `target`."""
    named = data.get(SCHEMA_FIELD)
    return {**data, SCHEMA_FIELD: _moved(named, source, target)} if isinstance(named, str) else dict(data)


def _moved(path: str, source: str, target: str | None) -> str:
    """Return a relative path from the folder of `source` as one from that of `target`."""
    if source == STDIN_NAME or target in {None, STDIN} or _NOT_RELATIVE.match(path):
        return path
    here, there = (os.path.abspath(os.path.dirname(name)) for name in (source, str(target)))
    if here == there:
        return path
    return os.path.relpath(os.path.join(here, path), there).replace(os.sep, "/")
