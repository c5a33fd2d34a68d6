"""Codes HP5xx: what can be wrong with a routing table."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

MALFORMED_ROUTES = Code("HP501", "malformed-routes", "error", _TEXTS)
DIGEST_MISMATCH = Code("HP502", "digest-mismatch", "error", _TEXTS)
ROUTES_DIFFER = Code("HP503", "routes-differ", "error", _TEXTS)
UNKNOWN_ROUTES_FIELD = Code("HP505", "unknown-routes-field", "warning", _TEXTS)

CODES: tuple[Code, ...] = (
    MALFORMED_ROUTES,
    DIGEST_MISMATCH,
    ROUTES_DIFFER,
    UNKNOWN_ROUTES_FIELD,
)
