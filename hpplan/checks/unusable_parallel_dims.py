"""Sizes in `parallel_dims` that make no mesh; the codes are those of `--mesh`."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.errors import InvalidInput
from hpplan.inspection.subject import Subject
from hpplan.routing.mesh import mesh_of_plan
from hpplan.routing.mesh_codes import EP_DOES_NOT_DIVIDE, UNUSABLE_AXIS_SIZE

CODES: tuple[Code, ...] = (EP_DOES_NOT_DIVIDE, UNUSABLE_AXIS_SIZE)
READS: tuple[str, ...] = ("parallel_dims",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield what keeps sizes from being a mesh: an ep that does not divide the ranks, or too many of them."""
    plan = subject.plan
    if "parallel_dims" in plan.data:
        try:
            mesh_of_plan(plan.data["parallel_dims"], plan.place.at("parallel_dims"))
        except InvalidInput as failure:
            yield from failure.diagnostics
