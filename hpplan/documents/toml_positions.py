"""Where the nodes of a TOML text are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hpplan.diagnostics import Path

_TOKEN = re.compile(
    r"""(?s)\#[^\n]*
    |(?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<sign>[][{}=,.\n])
    |(?P<bare>[^]\s[{}=,."'\#]+)""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    text: str
    start: int


def toml_positions(text: str) -> dict[Path, tuple[int, int]]:
    """Return where the key and the value of each node of a TOML text are, by path."""
    walk = _Walk(text)
    walk.document()
    return walk.positions


class _Walk:
    """A walk over a text that is known to be TOML; it looks at no more than where things are."""

    def __init__(self, text: str) -> None:
        self.positions: dict[Path, tuple[int, int]] = {(): (0, 0)}
        matches = (match for match in _TOKEN.finditer(text) if match.lastgroup)
        self._tokens = (_Token(match.group(), match.start()) for match in matches)
        self._next = next(self._tokens, None)
        self._counts: dict[Path, int] = {}

    def _take(self) -> _Token:
        token, self._next = self._next, next(self._tokens, None)
        assert token is not None
        return token

    def _sees(self, signs: str) -> bool:
        return self._next is not None and self._next.text in signs

    def document(self) -> None:
        table: Path = ()
        while self._next is not None:
            if self._sees("\n"):
                self._take()
            elif self._sees("["):
                table = self._header()
            else:
                self._member(table)

    def _header(self) -> Path:
        """Read `[a.b]` or `[[a.b]]`, and return the path of what follows."""
        start = self._take().start
        is_list = self._next is not None and self._next == ("[", start + 1)
        if is_list:
            self._take()
        path: Path = ()
        for token in self._keys("]"):
            path = (*self._resolved(path), _key(token.text))
            self.positions.setdefault(path, (token.start, token.start))
        while self._sees("]"):
            self._take()
        if is_list:
            self._counts[path] = self._counts.get(path, -1) + 1
            self.positions[self._resolved(path)] = (start, start)
        return self._resolved(path)

    def _resolved(self, path: Path) -> Path:
        """Return the path of a table: in a list of tables that is the last one."""
        return (*path, self._counts[path]) if path in self._counts else path

    def _keys(self, end: str) -> Iterator[_Token]:
        while not self._sees(end):
            token = self._take()
            if token.text != ".":
                yield token

    def _member(self, table: Path) -> None:
        path = table
        for token in self._keys("="):
            path = (*path, _key(token.text))
            self.positions.setdefault(path, (token.start, token.start))
        self._take()
        key = self.positions[path][0]
        assert self._next is not None
        self.positions[path] = (key, self._next.start)
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self._take().text
        if opening not in {"[", "{"}:
            # A number or a date may have dots in it.
            while self._next is not None and not self._sees(",]}\n"):
                self._take()
            return
        number = 0
        while not self._sees("]}"):
            if self._sees(",\n"):
                self._take()
            elif opening == "{":
                self._member(path)
            else:
                assert self._next is not None
                below: Path = (*path, number)
                self.positions[below] = (self._next.start, self._next.start)
                self._value(below)
                number += 1
        self._take()


def _key(text: str) -> str:
    return text[1:-1] if text[0] in "\"'" else text
