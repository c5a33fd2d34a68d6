"""Codes HP45x: what can be wrong with the samples of a batch file."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

MALFORMED_SAMPLE = Code("HP450", "malformed-sample", "error", _TEXTS)
PLACEHOLDERS_DO_NOT_MATCH = Code("HP451", "placeholders-do-not-match", "error", _TEXTS)
UNUSABLE_IMAGE = Code("HP452", "unusable-image", "error", _TEXTS)
SAMPLE_TOO_LONG = Code("HP453", "sample-too-long", "error", _TEXTS)
NO_SAMPLES = Code("HP454", "no-samples", "error", _TEXTS)

CODES: tuple[Code, ...] = (
    MALFORMED_SAMPLE,
    PLACEHOLDERS_DO_NOT_MATCH,
    UNUSABLE_IMAGE,
    SAMPLE_TOO_LONG,
    NO_SAMPLES,
)
