"""Codes HP40x, and HP441: what can be wrong with a mesh."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

MALFORMED_MESH = Code("HP401", "malformed-mesh", "error", _TEXTS)
UNKNOWN_AXIS = Code("HP402", "unknown-axis", "error", _TEXTS)
DUPLICATE_AXIS = Code("HP403", "duplicate-axis", "error", _TEXTS)
UNUSABLE_AXIS_SIZE = Code("HP404", "unusable-axis-size", "error", _TEXTS)
EP_DOES_NOT_DIVIDE = Code("HP405", "ep-does-not-divide", "error", _TEXTS)
WORLD_SIZE_MISMATCH = Code("HP406", "world-size-mismatch", "error", _TEXTS)
MESH_CONTRADICTS_PLAN = Code("HP441", "mesh-contradicts-plan", "error", _TEXTS)

CODES: tuple[Code, ...] = (
    MALFORMED_MESH,
    UNKNOWN_AXIS,
    DUPLICATE_AXIS,
    UNUSABLE_AXIS_SIZE,
    EP_DOES_NOT_DIVIDE,
    WORLD_SIZE_MISMATCH,
    MESH_CONTRADICTS_PLAN,
)
