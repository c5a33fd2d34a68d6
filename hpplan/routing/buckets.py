"""Buckets for a micro-batch, filled while it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.routing.assignment import fill_buckets
from hpplan.routing.fit import Fit, Padding, Share, fit, parent_batches
from hpplan.routing.ownership import Ownership
from hpplan.workload.codes import LENGTH_DOES_NOT_DIVIDE
from hpplan.workload.layouts.contiguous import Contiguous

if TYPE_CHECKING:
    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.mesh import Mesh
    from hpplan.workload.micro_batch import MicroBatch
    from hpplan.workload.workload import Workload


def _for_batches(found: Diagnostic) -> Diagnostic:
    """Return a finding with a way out that `hpplan workload` has."""
    if found.code is not LENGTH_DOES_NOT_DIVIDE:
        return found
    way = "leave out --no-pad, or give such a length with --seq-length or --pack"
    hint = (found.hint or "").split(";")[0]
    return replace(found, hint=f"{hint}; {way}")


@dataclass(frozen=True)
class Encoders:
    """Who encodes: the producers of a mesh, or so many of them on no mesh in particular."""

    policy: str
    producers: int
    mesh: Mesh | None = None

    def fill(self, micro_batch: MicroBatch) -> None:
        """Assign the items of each replica to buckets.

        Raises InvalidInput where the micro-batch does not fit the mesh.
        """
        workload = micro_batch.workload(Place("--mesh"))
        mesh = None if self.mesh is None else self.mesh.pooled(workload.encoder_pool)
        try:
            fitted = fit(mesh, workload) if mesh is not None else self._anywhere(workload)
        except InvalidInput as error:
            raise InvalidInput(map(_for_batches, error.diagnostics)) from None
        batches = workload.batches if mesh is None else parent_batches(mesh, workload)
        pool = 1 if mesh is None else mesh.pool
        micro_batch.buckets = []
        for share, batch in zip(fitted.shares, batches, strict=True):
            filled = fill_buckets(
                workload, share.moved(batch), share.ownership, fitted.producers, policy=self.policy
            )
            buckets = [[item.item_id for item in bucket] for bucket in filled]
            # Of a pool's buckets each replica lists as many, where they can be shared out.
            each = len(buckets) if len(buckets) % pool else len(buckets) // pool
            micro_batch.buckets += [buckets[at * each : (at + 1) * each] for at in range(pool)]

    def _anywhere(self, workload: Workload) -> Fit:
        """One rank owns everything: only policies that look at owners need to know better."""
        length = workload.length
        ownership = Ownership([Contiguous(length, 1, ())], length, 1, 1, sp=False)
        return Fit(length, (Share(ownership, (Padding(()),)),) * len(workload.batches), self.producers)
