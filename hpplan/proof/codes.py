"""Codes HP251 and HP252: what running a plan shows."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

BOUNDARY_DIFFERS = _FILE.code("HP251", "boundary-differs", "error")
MODEL_DIFFERS = _FILE.code("HP252", "model-differs", "error")

CODES = _FILE.codes()
