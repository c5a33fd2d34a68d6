"""Findings with their positions: what every report of findings starts from."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.diagnostics import Diagnostic, Place, Position
    from hpplan.documents.source import Sources


class Finding(NamedTuple):
    """A diagnostic, where it is, and where its related places are."""

    diagnostic: Diagnostic
    position: Position
    related: tuple[tuple[Place, Position], ...]

    @property
    def title(self) -> str:
        """The code's id and name."""
        code = self.diagnostic.code
        return f"{code.id} {code.name}"


def locate(diagnostics: Iterable[Diagnostic], sources: Sources) -> list[Finding]:
    """Return findings sorted by file, line, column and code, with the positions of related places."""
    resolved = sources.resolve(diagnostics)
    places = sources.positions({place for item, _ in resolved for place in item.related})
    return [
        Finding(item, position, tuple((place, places[place]) for place in item.related))
        for item, position in resolved
    ]


def relative_path(name: str) -> str:
    """Return the path of a document as CI systems know it: from the working directory, if it lies below."""
    # Importing pathlib would cost more than this.
    path = os.path.normpath(name)
    if os.path.isabs(path) or _is_outside(path):  # noqa: PTH117 - the same
        inside = os.path.relpath(path)
        path = path if _is_outside(inside) else inside
    return path.replace(os.sep, "/")


def _is_outside(path: str) -> bool:
    return path.split(os.sep, 1)[0] == os.pardir


def uri_of(name: str) -> str:
    """Return the relative URI of a document, or a `file` URI where it is not below the working directory."""
    path = relative_path(name)
    # The bytes of a name that is not UTF-8 are in it as surrogates, which have no UTF-8 form themselves.
    quoted = quote(path.encode(errors="surrogateescape"))
    return f"file://{quoted}" if path.startswith("/") else quoted


def fingerprints(findings: Sequence[Finding], sources: Sources) -> list[str]:
    """Return a digest for each finding that stays the same when lines and list elements move.

    It is made from file, code, message, and the names on the path; text that
    does not parse has no path, so its line stands in for both. Equal ones are
    told apart by count.
    """
    seen: Counter[str] = Counter()
    found = []
    for item, (line, _), _ in findings:
        place = item.place
        if place.position is None:
            what = [*(key for key in place.path if isinstance(key, str)), item.message]
        else:
            source = sources.get(place.document)
            what = [source.line(line)[:_LONGEST].strip() if source is not None else item.message]
        parts = [relative_path(place.document), item.code.id, *what]
        key = "\0".join(parts)
        seen[key] += 1
        text = f"{key}\0{seen[key]}".encode(errors="backslashreplace")
        found.append(hashlib.sha256(text).hexdigest())
    return found


_LONGEST = 1000
"""Characters of a line that tell it from others."""


def dump(data: Any, *, indent: int | None = None) -> str:  # noqa: ANN401 - JSON-safe data
    """Return data as JSON, with escapes for what has no UTF-8 form, such as a file name that is not UTF-8."""
    return json.dumps(_encodable(data), indent=indent)


def _encodable(data: Any) -> Any:  # noqa: ANN401 - JSON-safe data
    if isinstance(data, str):
        return data if data.isascii() else data.encode(errors="backslashreplace").decode()
    if isinstance(data, dict):
        return {key: _encodable(value) for key, value in data.items()}
    return [_encodable(item) for item in data] if isinstance(data, list) else data


def with_hint(item: Diagnostic) -> str:
    """Return message and hint in one line."""
    return f"{item.message} ({item.hint})" if item.hint else item.message
