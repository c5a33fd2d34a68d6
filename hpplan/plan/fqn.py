"""Finding FQNs: below a module, and by the patterns of inline rules."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache

_BRACKET = "\ud800"
"""Stands for a bracket where no document has a character."""

_WILDCARDS = re.compile(r"[*?\[]")


@lru_cache(maxsize=8192)
def matcher(pattern: str) -> Callable[[str], object]:
    """Return the test of a case-sensitive fnmatch pattern over a whole name; `*` crosses dots."""
    # Without a `]` behind it, `[` stands for itself; fnmatch would look for one to the end of the pattern.
    sets, last, rest = pattern.rpartition("]")
    expression = translate(sets + last + rest.replace("[", _BRACKET))
    return re.compile(expression.replace(_BRACKET, r"\[")).match


def ancestors(fqn: str) -> Iterator[str]:
    """Yield the FQNs of the modules above one, the nearest first.

    >>> list(ancestors("model.layers.0"))
    ['model.layers', 'model']
    """
    end = fqn.rfind(".")
    while end >= 0:
        yield fqn[:end]
        end = fqn.rfind(".", 0, end)


def is_within(fqn: str, modules: Container[str]) -> bool:
    """Whether a module is one of several, or below one of them."""
    return fqn in modules or any(above in modules for above in ancestors(fqn))


class FqnIndex:
    """A fixed set of FQNs that answers questions without walking all of them.

    Building sorts the names once; a pattern then only meets the names that
    share its literal beginning or end, so a rule for every layer stays cheap.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Index the names, in any order."""
        self._members = frozenset(names)
        self._names = sorted(self._members)
        self._reversed: list[str] | None = None

    def below(self, fqn: str) -> Sequence[str]:
        """Return the FQNs strictly below a module, sorted."""
        # "/" is the character after ".", so this is everything that begins with "<fqn>.".
        start = bisect_left(self._names, f"{fqn}.")
        return self._names[start : bisect_left(self._names, f"{fqn}/", start)]

    def matching(self, pattern: str) -> list[str]:
        """Return the FQNs that a pattern matches, sorted."""
        first = _WILDCARDS.search(pattern)
        if first is None:
            return [pattern] if pattern in self._members else []
        matches = matcher(pattern)
        begins = _span(self._names, pattern[: first.start()])
        candidates = self._names[begins]
        ending = _literal_ending(pattern)
        if ending and len(candidates) == len(self._names):
            if self._reversed is None:
                self._reversed = sorted(name[::-1] for name in self._names)
            backwards = self._reversed[_span(self._reversed, ending[::-1])]
            candidates = sorted(name[::-1] for name in backwards)
        return [name for name in candidates if matches(name)]


def _span(names: list[str], beginning: str) -> slice:
    """Return where the names with this beginning lie in a sorted list."""
    if not beginning:
        return slice(0, len(names))
    start = bisect_left(names, beginning)
    size = len(beginning)
    return slice(start, bisect_right(names, beginning, start, key=lambda name: name[:size]))


def _literal_ending(pattern: str) -> str:
    """Return what a pattern's matches must end with.

    A bracket set ends with `]`, which as a literal would be matched by itself:
    cutting after it is right for both.
    """
    return re.split(r"[*?\]]", pattern)[-1]
