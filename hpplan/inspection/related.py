"""Related places: what else a reader of a finding should look at."""

from __future__ import annotations

from dataclasses import replace

from hpplan.diagnostics import Place


def noted(place: Place, note: str) -> Place:
    """Return a place with what it has to do with the finding."""
    return replace(place, note=note)
