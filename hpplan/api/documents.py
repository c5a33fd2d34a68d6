"""Documents: read from a path or taken as data, written to a path, and what is wrong with them as text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic
from hpplan.documents.reader import Document
from hpplan.documents.scalars import Data
from hpplan.documents.source import Format, Sources
from hpplan.plan.model import Plan

if TYPE_CHECKING:
    from hpplan.routing.routes import RoutingTable
    from hpplan.workload.workload import Workload

    Readable = str | os.PathLike[str] | Mapping[str, Any] | Document
    """A path (`-` is standard input), plain data with string keys, or a document that was read."""

    Writable = Mapping[str, Any] | Plan | Workload | RoutingTable
    """What has a form as a document."""


def read_document(given: Readable, sources: Sources | None = None, *, name: str = "data") -> Document:
    """Return the document at a path, or plain data as a document called `name`.

    YAML and JSON are told apart by content. With `sources`, which keeps the
    text, a report of findings has lines and columns. Raises UnusableRequest
    where there is nothing to read, and InvalidInput where it is not one mapping.
    """
    from hpplan.documents import reader
    from hpplan.documents.source import Source

    if isinstance(given, reader.Document):
        return given
    if isinstance(given, Mapping):
        return reader.Document(Source(name, "", "json"), given)
    return reader.read_document(os.fspath(given), sources)


def document_text(content: Writable, format_name: Format = "yaml", header: str = "") -> str:
    """Return content in canonical form: the same meaning gives the same text.

    Fields are in their usual order in YAML, sorted in JSON; comment lines of
    `header` come first, in YAML alone. Raises InvalidInput for a number or a
    text that no file can hold.
    """
    from hpplan.documents.writer import dump_json, dump_yaml
    from hpplan.validation.kinds import key_order_of

    data = _data_of(content)
    if format_name == "json":
        return dump_json(data, getattr(content, "place", None))
    return dump_yaml(data, key_order_of(data), header)


def write_document(
    path: str | os.PathLike[str], content: Writable, format_name: Format | None = None
) -> bool:
    """Write content to a file in canonical form, in the format that its name asks for, else YAML.

    The file has its old content or its new, never a part of either. Returns
    whether it changed. Raises UnusableRequest where it cannot be written, and
    what `document_text` raises.
    """
    from hpplan.documents.disk.files import replace_file
    from hpplan.documents.source import format_of_name

    path = os.fspath(path)
    return replace_file(path, document_text(content, format_name or format_of_name(path) or "yaml"))


def report(findings: Iterable[Diagnostic], sources: Sources | None = None, format_name: str = "full") -> str:
    """Return findings as text, as `hpplan validate --output-format` spells them.

    `sources` has the texts of the documents, for lines and columns and what
    stands there; without them every finding is at line 1, column 1. Raises
    UnusableRequest for a format that there is not.
    """
    from hpplan.documents.source import Sources
    from hpplan.errors import UnusableRequest
    from hpplan.reports.findings.formats import FORMATS, renderer

    if format_name not in FORMATS:
        raise UnusableRequest(f"format_name is one of {', '.join(FORMATS)}, not {format_name!r}")
    return renderer(format_name)(findings, Sources() if sources is None else sources)


def _data_of(content: Writable) -> Data:
    if isinstance(content, Mapping):
        return content
    if hasattr(content, "data"):
        return content.data
    if hasattr(content, "to_data"):
        return content.to_data()
    from hpplan.routing.routes_writer import routes_to_data

    return routes_to_data(content)
