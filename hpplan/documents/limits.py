"""How much a document may hold, and the keys below which whole numbers are keys."""

from __future__ import annotations

from typing import Final

LARGEST_NUMBER: Final = 2**53 - 1
"""The largest whole number that every JSON reader takes exactly."""

MAX_BYTES: Final = 2**30
"""Of a document; a device may have no end."""

MAX_SAMPLE: Final = 2**28
"""Bytes of one line of samples."""

MAX_DEPTH: Final = 200
"""Lists and mappings inside one another."""

MAX_NODES: Final = 10_000_000
"""Nodes of a document after its aliases are expanded."""

MAX_COPIED: Final = 8 * 2**20
"""Characters that aliases may add to any document: more than a plan of 15,000 entries has as JSON."""

MAX_COPIES: Final = 20
"""How often aliases may add the text of a document to it, where that is more than `MAX_COPIED`.

A line that gives an FQN an alias for its entry adds about ten times its own characters.
"""

NUMBERED: Final = frozenset({"destinations", "handed_over"})
"""Mappings under these keys are keyed by item ids or ranks, and read as their decimal text."""
