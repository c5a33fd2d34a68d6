"""Lengths that do not divide: what is needed, and where padding goes."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.routing.fit import fit, length_multiple, padded
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.workload import Workload, load_workload


def workload(**sequence: Any) -> Workload:  # noqa: ANN401 - fields of a sequence
    """Return a workload without items."""
    return load_workload({"sequence": sequence, "items": []}, Place("w"))


@pytest.mark.parametrize(
    ("mesh", "layout", "multiple"),
    [
        ("cp=2,tp=3,sp", "contiguous", 6),
        ("cp=2,tp=3", "contiguous", 2),
        ("cp=2,tp=3,sp", "zigzag", 12),
        ("cp=2,tp=4,sp", "zigzag", 8),
        ("cp=2,tp=2,sp", "zigzag", 4),
        ("cp=2,tp=3", "zigzag", 4),
        ("tp=4,sp", "contiguous", 4),
        ("tp=4", "contiguous", 1),
    ],
)
def test_multiple(mesh: str, layout: str, multiple: int) -> None:
    """A length is refused that could be shared out, or the other way round."""
    assert length_multiple(parse_mesh(mesh), workload(length=1, cp_layout=layout)) == multiple
    fit(parse_mesh(mesh), workload(length=5 * multiple, cp_layout=layout))
    if multiple > 1:
        with pytest.raises(InvalidInput):
            fit(parse_mesh(mesh), workload(length=5 * multiple + 1, cp_layout=layout))


def test_padding_rounds_up_at_the_end() -> None:
    """Padding moves a token, or is longer than needed."""
    mesh = parse_mesh("cp=2,tp=3,sp")
    assert padded(mesh, workload(length=25, cp_layout="zigzag", pad=True)) == (36, ())
    assert padded(mesh, workload(length=36, cp_layout="zigzag", pad=True)) == (36, ())


def test_padding_lengthens_the_last_document() -> None:
    """Padding with documents moves tokens of a later document."""
    mesh = parse_mesh("cp=2,tp=3,sp")
    sequence = {"length": 25, "documents": [8, 17], "cp_layout": "zigzag", "pad": True}
    assert padded(mesh, workload(**sequence)) == (36, (8, 28))
    empty = {"length": 8, "documents": [8, 0], "cp_layout": "zigzag", "pad": True}
    assert padded(mesh, workload(**empty)) == (12, (8, 4))


def test_padding_tokens_have_an_owner_and_no_rows() -> None:
    """A padding token is nobody's, or takes a row."""
    data = {
        "sequence": {"length": 10, "cp_layout": "zigzag", "pad": True},
        "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 10}],
    }
    table = plan_routes(parse_mesh("cp=2,tp=2,sp"), load_workload(data, Place("w")), "row")
    assert table.fitted.length == 12
    assert sum(table.fitted.ownership.shard(number).ranges[0][1] > 0 for number in range(4)) == 4
    # Chunks of 3: rank 0 and 1 hold chunks 0 and 3, whose tokens 10 and 11 are padding.
    assert [sum(column) for column in zip(*table.parents[0].routes.matrix(), strict=True)] == [3, 1, 3, 3]
