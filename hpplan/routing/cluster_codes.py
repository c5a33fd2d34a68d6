"""Codes HP52x: what can be wrong with links."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

MALFORMED_LINKS = _FILE.code("HP521", "malformed-links", "error")
UNKNOWN_LINKS_FIELD = _FILE.code("HP522", "unknown-links-field", "warning")
NO_LINK_BETWEEN_NODES = _FILE.code("HP523", "no-link-between-nodes", "error")

CODES = _FILE.codes()
