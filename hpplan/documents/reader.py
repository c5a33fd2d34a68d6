"""Documents from a path or from standard input, as plain data that knows its positions."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import EMPTY_DOCUMENT, NOT_A_MAPPING, NOT_UTF8
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput, UnusableRequest

if TYPE_CHECKING:
    from hpplan.documents.scalars import Data
    from hpplan.documents.source import Sources

STDIN = "-"
"""The path that stands for standard input."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = "\ufeff"


@dataclass(frozen=True)
class Document:
    """A document's text and its data: a mapping of strings to plain dicts, lists and scalars."""

    source: Source
    data: Data

    @property
    def place(self) -> Place:
        """The top of the document."""
        return Place(self.source.name)


def read_document(path: str, sources: Sources | None = None) -> Document:
    """Read the YAML or JSON document at `path`; `-` is standard input.

    Raises UnusableRequest when there is no such file or it cannot be read,
    and InvalidInput when its content is not one mapping.
    """
    if path == STDIN:
        return parse_document(_read_stdin(), "<stdin>", sources)
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - pathlib takes longer to import than a plan to read
            raw = stream.read()
    except (OSError, ValueError) as error:
        named = path or "''"
        raise UnusableRequest(f"Cannot read {named}: {why(error)}.") from None
    return parse_document(raw, path, sources)


def why(error: OSError | ValueError) -> str:
    """Say in a few words why a file cannot be used."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said[:1].lower() + said[1:]


def parse_document(raw: bytes, name: str, sources: Sources | None = None) -> Document:
    """Parse a document called `name`; its format is told by its content.

    Raises InvalidInput when the content is not one mapping.
    """
    text = _decode(raw, name)
    has_mark = text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    stripped = text.lstrip()
    failure: Diagnostic | None = None
    if stripped[:1] in {"{", "["}:
        from hpplan.documents.json_data import NotJsonError, load_json

        source = Source(name, text, "json", has_mark)
        if sources is not None:
            sources.add(source)
        try:
            return _top(source, load_json(source))
        except NotJsonError as error:
            failure = error.finding
    source = Source(name, text, "yaml", has_mark)
    if not stripped:
        raise InvalidInput(
            [Diagnostic(EMPTY_DOCUMENT, "the document is empty", Place(name, position=(1, 1)))]
        )
    from hpplan.documents.yaml_data import load_yaml

    try:
        data = load_yaml(source)
    except InvalidInput as invalid:
        if failure is not None and _means_json(text, invalid):
            raise InvalidInput([failure]) from None
        if sources is not None:
            sources.add(source)
        raise
    if sources is not None:
        sources.add(source)
    return _top(source, data)


def _means_json(text: str, invalid: InvalidInput) -> bool:
    """Whether a text that is neither JSON nor YAML was meant as JSON."""
    from hpplan.documents.codes import UNPRINTABLE_CHARACTER, YAML_SYNTAX
    from hpplan.documents.json_data import looks_like_json

    not_yaml = {YAML_SYNTAX, UNPRINTABLE_CHARACTER}
    return any(item.code in not_yaml for item in invalid.diagnostics) and looks_like_json(text)


def _top(source: Source, data: Data) -> Document:
    if not isinstance(data, dict):
        place = Place(source.name, position=source.position(len(source.text) - len(source.text.lstrip())))
        message = "the document is a list, not a mapping of fields"
        raise InvalidInput([Diagnostic(NOT_A_MAPPING, message, place, "check that the right file was named")])
    return Document(source, data)


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise UnusableRequest("Cannot read standard input: it is closed.")
    try:
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise UnusableRequest(f"Cannot read standard input: {why(error)}.") from None


def _decode(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = Source(name, raw[: error.start].decode("utf-8").removeprefix(_BOM), "yaml")
        hint = (
            "it looks like UTF-16; save it as UTF-8" if raw.startswith(_UTF16) else "save the file as UTF-8"
        )
        place = Place(name, position=before.position(len(before.text)))
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise InvalidInput([Diagnostic(NOT_UTF8, message, place, hint)]) from None
    return text
