"""Lengths that do not divide: what is needed, and where padding goes."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.routing.fit import fit, length_multiple, padded
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_document import routes_from_data
from hpplan.routing.routes_writer import routes_to_data
from hpplan.workload.workload import Workload, load_workload


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
    assert padded(mesh, workload(length=25, cp_layout="zigzag", pad=True)) == (36, ((),))
    assert padded(mesh, workload(length=36, cp_layout="zigzag", pad=True)) == (36, ((),))


def test_padding_lengthens_the_last_document() -> None:
    """What the whole sequence needs goes elsewhere than behind its last token."""
    mesh = parse_mesh("cp=2,tp=3,sp")
    sequence = {"length": 25, "documents": [8, 17], "cp_layout": "zigzag", "pad": True}
    assert padded(mesh, workload(**sequence)) == (36, ((8, 28),))
    empty = {"length": 8, "documents": [8, 0], "cp_layout": "zigzag", "pad": True}
    assert padded(mesh, workload(**empty)) == (12, ((8, 4),))


def test_each_document_is_padded_at_its_end() -> None:
    """Zigzag over cp=2 needs multiples of 4: 9 becomes 12, so the second document starts at token 12, not 9.

    Rank 0 holds tokens 0 to 2 and 9 to 11 of the first, of which 9 to 11 are
    padding, and 12 to 14 and 21 to 23 of the second.
    """
    sequence = {"length": 20, "documents": [9, 11], "cp_layout": "zigzag", "pad": True}
    items = [{"item_id": 7, "batch_index": 0, "decoder_token_start": 8, "output_rows": 4}]
    data = {"sequence": sequence, "items": items, "buckets": [[7], []]}
    one = load_workload(data, Place("w"))
    mesh = parse_mesh("cp=2")
    assert padded(mesh, one) == (24, ((12, 12),))
    table = plan_routes(mesh, one, "row")
    # Row 0 is token 8, of the padded tokens as well, in chunk 2 of rank 1; rows 1 to 3 are 12 to 14.
    zero, other = table.rank_route(0), table.rank_route(1)
    assert zero is not None
    assert other is not None
    assert (zero.receives, zero.positions, zero.local_length) == (((0, 7, 1, 4),), [6, 7, 8], 12)
    assert (other.receives, other.positions) == (((0, 7, 0, 1),), [5])
    written = routes_to_data(table)
    assert written["workload"]["sequence"]["documents"] == [9, 11]
    assert written["workload"]["items"][0]["decoder_token_start"] == 8
    assert routes_to_data(routes_from_data(written, Place("r"))) == written


def test_padding_of_documents_leaves_contiguous_tokens_alone() -> None:
    """A layout that does not look at documents pads inside the sequence."""
    one = workload(length=20, documents=[9, 11], pad=True)
    assert padded(parse_mesh("cp=8"), one) == (24, ((9, 15),))
    assert not fit(parse_mesh("cp=8"), one).moves_tokens


def test_replicas_are_padded_to_one_length() -> None:
    """Replicas with documents of their own end up with rows of different lengths."""
    data: dict[str, Any] = {
        "sequence": {"length": 20, "cp_layout": "zigzag", "pad": True},
        "replicas": [{"items": [], "documents": [9, 11]}, {"items": [], "documents": [1, 1, 18]}],
    }
    one = load_workload(data, Place("w"))
    mesh = parse_mesh("dp=2,cp=2")
    assert padded(mesh, one) == (28, ((12, 16), (4, 4, 20)))
    table = plan_routes(mesh, one)
    assert routes_from_data(routes_to_data(table), Place("r")).digest == table.digest
    swapped = load_workload({**data, "replicas": data["replicas"][::-1]}, Place("w"))
    assert plan_routes(mesh, swapped).digest != table.digest


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
