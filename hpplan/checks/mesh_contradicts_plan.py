"""A `--mesh` that the plan is not written for; the code is one of meshes."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.subject import Subject
from hpplan.routing.agreeing_plan import check_mesh
from hpplan.routing.mesh_codes import MESH_CONTRADICTS_PLAN

CODES: tuple[Code, ...] = (MESH_CONTRADICTS_PLAN,)
READS: tuple[str, ...] = ("parallel_dims",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield what `hpplan compile` refuses the mesh for."""
    if subject.mesh is not None:
        yield from check_mesh(subject.plan, subject.mesh)
