"""Codes HP33x: what is wrong with a configuration file."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

TOML_SYNTAX = Code("HP330", "toml-syntax", "error", _TEXTS)
UNKNOWN_SETTING = Code("HP331", "unknown-setting", "error", _TEXTS)
MISTYPED_SETTING = Code("HP332", "mistyped-setting", "error", _TEXTS)
MISSING_SETTING = Code("HP333", "missing-setting", "error", _TEXTS)
UNMATCHED_FILES = Code("HP334", "unmatched-files", "error", _TEXTS)
UNKNOWN_CODE = Code("HP335", "unknown-code", "error", _TEXTS)
UNUSABLE_TARGET = Code("HP336", "unusable-target", "error", _TEXTS)

CODES: tuple[Code, ...] = (
    TOML_SYNTAX,
    UNKNOWN_SETTING,
    MISTYPED_SETTING,
    MISSING_SETTING,
    UNMATCHED_FILES,
    UNKNOWN_CODE,
    UNUSABLE_TARGET,
)
