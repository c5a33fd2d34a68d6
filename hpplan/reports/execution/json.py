"""The report of `hpplan exec` for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.documents.writer import dump_json

if TYPE_CHECKING:
    from collections.abc import Mapping


def render(report: Mapping[str, Any]) -> str:
    """Return the report as JSON with sorted keys."""
    return dump_json(dict(report))
