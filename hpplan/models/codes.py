"""Codes HP230 to HP234: a model's config.json that no model can be built or no plan be made from."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

NO_MODEL_CONFIG = _FILE.code("HP230", "no-model-config", "error")
UNKNOWN_MODEL = _FILE.code("HP231", "unknown-model", "error")
REMOTE_CODE = _FILE.code("HP232", "remote-code", "error")
UNUSABLE_MODEL_CONFIG = _FILE.code("HP233", "unusable-model-config", "error")
NO_PARALLEL_PLAN = _FILE.code("HP234", "no-parallel-plan", "error")

CODES = _FILE.codes()
