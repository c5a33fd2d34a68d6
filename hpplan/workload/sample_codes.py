"""Codes HP45x: what can be wrong with the samples of a batch file."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

MALFORMED_SAMPLE = _FILE.code("HP450", "malformed-sample", "error")
PLACEHOLDERS_DO_NOT_MATCH = _FILE.code("HP451", "placeholders-do-not-match", "error")
UNUSABLE_IMAGE = _FILE.code("HP452", "unusable-image", "error")
SAMPLE_TOO_LONG = _FILE.code("HP453", "sample-too-long", "error")
NO_SAMPLES = _FILE.code("HP454", "no-samples", "error")

CODES = _FILE.codes()
