"""JSON text to data: the standard library's C decoder, then a look for what it lets through."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.codes import (
    JSON_SYNTAX,
    NON_FINITE_NUMBER,
    NUMBER_TOO_LARGE,
    TOO_DEEP,
    UNPAIRED_SURROGATE,
)
from hpplan.documents.collector import collector_paused
from hpplan.documents.limits import MAX_DEPTH
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from hpplan.documents.scalars import Data

_SURROGATE_ESCAPE = r"\\u[dD][89a-fA-F]"
_SURROGATE = "[\ud800-\udfff]"
_TEXT_OR_BRACKET = re.compile(r'"[^"]*"?|[\[\]{}]')
_TEXT_OR_TRAILING_COMMA = re.compile(r'"[^"]*"?|[\[{,:](?:[ \t\r\n]*,)+|,(?=[ \t\r\n]*[\]}])')
_JSON_START = r'\s*(?:\{\s*(?:["}]|\Z)|\[\s*(?:["\]\[{0-9-]|\Z))'
_TOO_DEEP = TOO_DEEP, f"lists and mappings nested deeper than {MAX_DEPTH} levels"
_TOO_LARGE = NUMBER_TOO_LARGE, "a number that is too large"
_WORDS = (
    ("delimiter", "a ',' or a ':' is missing here"),
    ("property name", "a key in double quotes is expected here"),
    ("control character", "a line break or another control character inside a text"),
    ("Unterminated string", "a text that is never closed"),
    ("Extra data", "text after the end of the document"),
    ("escape", "an escape that JSON does not have"),
    ("value", "a value is expected here"),
)


class NotJsonError(Exception):
    """The text is not JSON; it may still be YAML."""

    def __init__(self, finding: Diagnostic) -> None:
        """Keep what to say in case it is not YAML either."""
        super().__init__(finding)
        self.finding = finding


def looks_like_json(text: str) -> bool:
    """Whether the writer of a text that does not parse meant JSON."""
    return re.match(_JSON_START, text) is not None


def beyond_trailing_commas(source: Source) -> Diagnostic | None:
    """Return what keeps a text from being JSON but commas before closing brackets, if anything does.

    YAML allows such commas, so of a text that is not YAML either they are not what is wrong. Raises
    InvalidInput for what JSON lacks, such as NaN, in a text that is JSON but for such commas.
    """
    kept, start = [], 0
    for match in _TEXT_OR_TRAILING_COMMA.finditer(_without_escapes(source.text)):
        if match.group() == ",":
            kept.append(source.text[start : match.start()])
            start = match.end()
    try:
        load_json(replace(source, text=" ".join([*kept, source.text[start:]])))
    except NotJsonError as error:
        return error.finding
    return None


def load_json(source: Source) -> Data:
    """Return the data of a JSON document.

    Raises NotJsonError where the syntax is not JSON's, and InvalidInput for
    duplicate keys, NaN and infinities, numbers that are too large, unpaired
    surrogates and too deep nesting.
    """
    decoding = _Decoding()
    data: Data = None
    try:
        with collector_paused():
            data = decoding.decode(source.text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _refusal(source, error) from None
    if decoding.suspect or re.search(_SURROGATE_ESCAPE, source.text) or _is_too_deep(data):
        findings = list(_findings(source))
        if findings:
            raise InvalidInput(findings)
    return data


class _Decoding:
    """The standard library's decoder, and whether it met what it should not let through."""

    def __init__(self) -> None:
        self.suspect = False

    def decode(self, text: str) -> Data:
        hooks: dict[str, Any] = {
            "object_pairs_hook": self._mapping,
            "parse_constant": self._constant,
            "parse_float": self._fraction,
        }
        try:
            return json.loads(text, **hooks)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # A number is too large; what follows it need not be JSON at all.
            return json.loads(text, **hooks, parse_int=self._whole)

    def _mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(pairs)
        if len(data) != len(pairs):
            self.suspect = True
        return data

    def _constant(self, _name: str) -> None:
        self.suspect = True

    def _fraction(self, spelled: str) -> float:
        number = float(spelled)
        if number in {float("inf"), float("-inf")}:
            self.suspect = True
        return number

    def _whole(self, spelled: str) -> int:
        self.suspect = self.suspect or _is_too_large(spelled)
        return 0


def _refusal(source: Source, error: RecursionError | json.JSONDecodeError) -> NotJsonError | InvalidInput:
    """Return what to raise for what the decoder raised; how deep it goes depends on Python's version."""
    if isinstance(error, json.JSONDecodeError) and not _opens_too_deep(source.text, error.pos):
        return NotJsonError(_syntax_failure(source, error))
    return InvalidInput(list(_findings(source)) or [Diagnostic(*_TOO_DEEP, Place(source.name))])


def _syntax_failure(source: Source, error: json.JSONDecodeError) -> Diagnostic:
    text, index = source.text, error.pos
    if "trailing comma" in error.msg:
        # Python 3.13 points at the comma, older ones at the bracket.
        index = len(text) - len(text[index + 1 :].lstrip())
    if text[index : index + 1] in {"]", "}"} and text[:index].rstrip().endswith(","):
        message = "a ',' before a closing bracket"
    elif index >= len(text.rstrip()):
        message = "the text ends before the document does"
    else:
        message = next((words for phrase, words in _WORDS if phrase in error.msg), "this is not JSON")
    return Diagnostic(JSON_SYNTAX, message, Place(source.name, position=source.position(index)))


def _opens_too_deep(text: str, stop: int) -> bool:
    """Whether the JSON up to where its syntax fails opens more than it may."""
    depth = 0
    for match in _TEXT_OR_BRACKET.finditer(_without_escapes(text[:stop])):
        sign = match.group()
        if sign in {"[", "{"}:
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif sign in {"]", "}"}:
            depth -= 1
    return False


def _without_escapes(text: str) -> str:
    """Return a text of the same length in which every quote starts or ends a text.

    An expression that passes escapes takes a hundred bytes for each of them.
    """
    return text.replace("\\\\", "..").replace('\\"', "..")


def _is_too_deep(data: Data) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            if isinstance(node, (dict, list)):
                members = node.values() if isinstance(node, dict) else node
                below.extend(member for member in members if isinstance(member, (dict, list)))
        if not below:
            return False
        level = below
    return True


def _findings(source: Source) -> Iterator[Diagnostic]:
    """Walk the text once more, slowly and with positions, and say everything that is wrong."""
    from hpplan.documents.json_text.tokens import json_tokens
    from hpplan.documents.tokens import SCALAR
    from hpplan.documents.visits import visits

    for visit in visits(json_tokens(source.text)):
        place = visit.place(source)
        problem: tuple[Code, str] | None = None
        if visit.kind != SCALAR:
            if len(visit.path) == MAX_DEPTH:
                yield Diagnostic(*_TOO_DEEP, place)
                return
        elif visit.text is None:
            problem = _number_problem(source.text, visit.start)
        elif re.search(_SURROGATE, visit.text):
            # No report could show a path with such a key in it.
            place = Place(
                source.name, visit.path[: None if visit.first is None else -1], position=place.position
            )
            problem = UNPAIRED_SURROGATE, "half a surrogate pair in a text"
        if problem is not None:
            yield Diagnostic(*problem, place)
        elif visit.first not in {None, visit.start}:
            yield visit.duplicate(source)


_NUMBER = r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|-?[A-Za-z]+"


def _number_problem(text: str, index: int) -> tuple[Code, str] | None:
    match = re.compile(_NUMBER).match(text, index)
    spelled = match.group() if match else ""
    if spelled in {"NaN", "Infinity", "-Infinity"}:
        return NON_FINITE_NUMBER, f"{spelled} is not a JSON number"
    if not match or not spelled[-1].isdigit():
        return None
    if match.group(1) or match.group(2):
        too_large = float(spelled) in {float("inf"), float("-inf")}
    else:
        too_large = _is_too_large(spelled)
    return _TOO_LARGE if too_large else None


def _is_too_large(whole: str) -> bool:
    try:
        int(whole)
    except ValueError:
        return True
    return False
