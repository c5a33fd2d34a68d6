"""Codes HP51x: what verification by fingerprints can find on the ranks of a job."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

WRONG_ROW = Code("HP511", "wrong-row", "error", _TEXTS)
WRONG_ORDER = Code("HP512", "wrong-order", "error", _TEXTS)
WRONG_POSITION = Code("HP513", "wrong-position", "error", _TEXTS)
WRONG_GRADIENT = Code("HP514", "wrong-gradient", "error", _TEXTS)

WRONG_INPUT = Code("HP515", "wrong-input", "error", _TEXTS)

CODES: tuple[Code, ...] = (WRONG_ROW, WRONG_ORDER, WRONG_POSITION, WRONG_GRADIENT, WRONG_INPUT)
