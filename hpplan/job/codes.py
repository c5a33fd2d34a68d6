"""Codes HP51x: what verification by fingerprints can find on the ranks of a job."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

WRONG_ROW = _FILE.code("HP511", "wrong-row", "error")
WRONG_ORDER = _FILE.code("HP512", "wrong-order", "error")
WRONG_POSITION = _FILE.code("HP513", "wrong-position", "error")
WRONG_GRADIENT = _FILE.code("HP514", "wrong-gradient", "error")
WRONG_INPUT = _FILE.code("HP515", "wrong-input", "error")

CODES = _FILE.codes()
