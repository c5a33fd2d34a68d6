"""Codes HP33x: what is wrong with a configuration file."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

TOML_SYNTAX = _FILE.code("HP330", "toml-syntax", "error")
UNKNOWN_SETTING = _FILE.code("HP331", "unknown-setting", "error")
MISTYPED_SETTING = _FILE.code("HP332", "mistyped-setting", "error")
MISSING_SETTING = _FILE.code("HP333", "missing-setting", "error")
UNMATCHED_FILES = _FILE.code("HP334", "unmatched-files", "error")
UNKNOWN_CODE = _FILE.code("HP335", "unknown-code", "error")
UNUSABLE_TARGET = _FILE.code("HP336", "unusable-target", "error")

CODES = _FILE.codes()
