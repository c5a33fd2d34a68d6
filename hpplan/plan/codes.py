"""Codes HP1xx (the schema) and HP3xx (rules and strategies) that loading and the passes report."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

MISSING_FIELD = _FILE.code("HP101", "missing-field", "error")
MISTYPED_FIELD = _FILE.code("HP102", "mistyped-field", "error")
MALFORMED_PLACEMENT = _FILE.code("HP103", "malformed-placement", "error")
NAME_TOO_LONG = _FILE.code("HP115", "name-too-long", "error")
UNRESOLVED_TARGET = _FILE.code("HP301", "unresolved-target", "warning")
UNMATCHED_RULE = _FILE.code("HP302", "unmatched-rule", "warning")
OTHER_CLASS = _FILE.code("HP303", "other-class", "warning")
NO_RULES = _FILE.code("HP304", "no-rules", "error")
UNKNOWN_CONDITION = _FILE.code("HP305", "unknown-condition", "error")
STRATEGY_CLASH = _FILE.code("HP306", "strategy-clash", "error")
BROKEN_STRATEGY_PLUGIN = _FILE.code("HP307", "broken-strategy-plugin", "error")

CODES = _FILE.codes()
