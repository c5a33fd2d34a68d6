"""Codes HP230 to HP234: a model's config.json that no model can be built or no plan be made from."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

NO_MODEL_CONFIG = Code("HP230", "no-model-config", "error", _TEXTS)
UNKNOWN_MODEL = Code("HP231", "unknown-model", "error", _TEXTS)
REMOTE_CODE = Code("HP232", "remote-code", "error", _TEXTS)
UNUSABLE_MODEL_CONFIG = Code("HP233", "unusable-model-config", "error", _TEXTS)
NO_PARALLEL_PLAN = Code("HP234", "no-parallel-plan", "error", _TEXTS)

CODES: tuple[Code, ...] = (
    NO_MODEL_CONFIG,
    UNKNOWN_MODEL,
    REMOTE_CODE,
    UNUSABLE_MODEL_CONFIG,
    NO_PARALLEL_PLAN,
)
