"""Codes HP40x, and HP441: what can be wrong with a mesh."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

MALFORMED_MESH = _FILE.code("HP401", "malformed-mesh", "error")
UNKNOWN_AXIS = _FILE.code("HP402", "unknown-axis", "error")
DUPLICATE_AXIS = _FILE.code("HP403", "duplicate-axis", "error")
UNUSABLE_AXIS_SIZE = _FILE.code("HP404", "unusable-axis-size", "error")
EP_DOES_NOT_DIVIDE = _FILE.code("HP405", "ep-does-not-divide", "error")
WORLD_SIZE_MISMATCH = _FILE.code("HP406", "world-size-mismatch", "error")
MESH_CONTRADICTS_PLAN = _FILE.code("HP441", "mesh-contradicts-plan", "error")

CODES = _FILE.codes()
