"""Codes HP1xx (the schema) and HP3xx (rules and strategies) that loading and the passes report."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

MISSING_FIELD = Code("HP101", "missing-field", "error", _TEXTS)
MISTYPED_FIELD = Code("HP102", "mistyped-field", "error", _TEXTS)
MALFORMED_PLACEMENT = Code("HP103", "malformed-placement", "error", _TEXTS)
NAME_TOO_LONG = Code("HP115", "name-too-long", "error", _TEXTS)
UNRESOLVED_TARGET = Code("HP301", "unresolved-target", "warning", _TEXTS)
UNMATCHED_RULE = Code("HP302", "unmatched-rule", "warning", _TEXTS)
OTHER_CLASS = Code("HP303", "other-class", "warning", _TEXTS)
NO_RULES = Code("HP304", "no-rules", "error", _TEXTS)
UNKNOWN_CONDITION = Code("HP305", "unknown-condition", "error", _TEXTS)
STRATEGY_CLASH = Code("HP306", "strategy-clash", "error", _TEXTS)
BROKEN_STRATEGY_PLUGIN = Code("HP307", "broken-strategy-plugin", "error", _TEXTS)

CODES: tuple[Code, ...] = (
    MISSING_FIELD,
    MISTYPED_FIELD,
    MALFORMED_PLACEMENT,
    NAME_TOO_LONG,
    UNRESOLVED_TARGET,
    UNMATCHED_RULE,
    OTHER_CLASS,
    NO_RULES,
    UNKNOWN_CONDITION,
    STRATEGY_CLASH,
    BROKEN_STRATEGY_PLUGIN,
)
