"""Where two documents' data differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.diagnostics import Path

MISSING = object()
"""Stands for a value that one side does not have."""

_ENTRY_DEPTH = 3
"""Differences are told apart down to a field of an entry: `param_plan`, FQN, field."""


class Difference(NamedTuple):
    """One node that differs; `before` or `after` is `MISSING` where a side does not have it."""

    path: Path
    before: Any
    after: Any


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:  # noqa: ANN401 - document data
    """Yield the nodes in which data differs, in the order of `before`, then of what `after` adds."""
    if isinstance(before, dict) and isinstance(after, dict) and len(path) < _ENTRY_DEPTH:
        for key in {**before, **after}:
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), (*path, key))
    elif before is MISSING or after is MISSING or type(before) is not type(after) or before != after:
        yield Difference(path, before, after)
