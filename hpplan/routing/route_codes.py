"""Codes HP5xx: what can be wrong with a routing table."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

MALFORMED_ROUTES = _FILE.code("HP501", "malformed-routes", "error")
DIGEST_MISMATCH = _FILE.code("HP502", "digest-mismatch", "error")
ROUTES_DIFFER = _FILE.code("HP503", "routes-differ", "error")
UNKNOWN_ROUTES_FIELD = _FILE.code("HP505", "unknown-routes-field", "warning")

CODES = _FILE.codes()
