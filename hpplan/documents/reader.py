"""Documents from a path or from standard input, as plain data that knows its positions."""

from __future__ import annotations

from dataclasses import dataclass

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import EMPTY_DOCUMENT, NOT_A_MAPPING
from hpplan.documents.disk.streams import decoded, document_name, read_bytes
from hpplan.documents.scalars import Data
from hpplan.documents.source import BOM, Source, Sources
from hpplan.errors import InvalidInput


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
    return parse_document(read_bytes(path), document_name(path), sources)


def parse_document(raw: bytes, name: str, sources: Sources | None = None) -> Document:
    """Parse a document called `name`; its format is told by its content.

    Raises InvalidInput when the content is not one mapping.
    """
    text = decoded(raw, name)
    has_mark = text.startswith(BOM)
    text = text.removeprefix(BOM)
    stripped = text.lstrip()
    failure: Diagnostic | None = None
    if stripped[:1] in {"{", "["}:
        from hpplan.documents.json_text.data import NotJsonError, load_json

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
    from hpplan.documents.yaml_text.data import load_yaml

    if sources is not None:
        sources.add(source)
    try:
        data = load_yaml(source)
    except InvalidInput as invalid:
        if failure is None or not _means_json(text, invalid):
            raise
        raise InvalidInput([_beyond_trailing_commas(source) or failure]) from None
    if failure is not None:
        _beyond_trailing_commas(source)
    return _top(source, data)


def _means_json(text: str, invalid: InvalidInput) -> bool:
    """Whether a text that is neither JSON nor YAML was meant as JSON."""
    from hpplan.documents.codes import UNPRINTABLE_CHARACTER, YAML_SYNTAX
    from hpplan.documents.json_text.data import looks_like_json

    not_yaml = {YAML_SYNTAX, UNPRINTABLE_CHARACTER}
    return any(finding.code in not_yaml for finding in invalid.diagnostics) and looks_like_json(text)


def _beyond_trailing_commas(source: Source) -> Diagnostic | None:
    """Look for what is wrong with a text if it is JSON but for commas that YAML allows."""
    from hpplan.documents.json_text.data import beyond_trailing_commas, looks_like_json

    return beyond_trailing_commas(source) if looks_like_json(source.text) else None


def _top(source: Source, data: Data) -> Document:
    if not isinstance(data, dict):
        place = Place(source.name, position=source.position(len(source.text) - len(source.text.lstrip())))
        message = "the document is a list, not a mapping of fields"
        raise InvalidInput([Diagnostic(NOT_A_MAPPING, message, place, "check that the right file was named")])
    return Document(source, data)
