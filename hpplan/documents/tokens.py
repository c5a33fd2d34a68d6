"""The few kinds of tokens that a walk over a document's text meets, in YAML and in JSON."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

MAPPING: Final = "mapping"
SEQUENCE: Final = "sequence"
CLOSE: Final = "close"
SCALAR: Final = "scalar"
MERGE: Final = "merge"

Token = tuple[str, int, str | None]
"""Kind, index of its first character, and its text where it is a string (or a key's number)."""

Tokens = Generator[Token, bool | None, None]
"""A walk. Whoever sends True for a token passes over what follows, and pays little for it.

After an opening that is everything up to its CLOSE, which then does not come;
after a scalar it is the node behind it, such as the value of a key.
"""
