"""The few kinds of steps that a walk over a document's text takes, in YAML and in JSON."""

from __future__ import annotations

from typing import Final

MAPPING: Final = "mapping"
SEQUENCE: Final = "sequence"
CLOSE: Final = "close"
SCALAR: Final = "scalar"
MERGE: Final = "merge"

Step = tuple[str, int, str | None]
"""Kind, index of its first character, and its text where it is a string (or a key's number)."""
