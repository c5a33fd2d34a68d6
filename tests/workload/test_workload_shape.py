"""The shape of a workload: what is added to its fields is read, written and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hpplan.comparison.plans import compare_plans
from hpplan.comparison.routes import compare_routes
from hpplan.diagnostics import Place
from hpplan.plan.model import Plan
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.shape import HEAD_FIELDS, ITEM, SEQUENCE
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from hpplan.shapes.shape import Field


def workload() -> dict[str, Any]:
    """Return a workload in which any field may get another value."""
    return {
        "sequence": {"length": 8},
        "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 1, "output_rows": 2}],
    }


def another(field: Field) -> Any:  # noqa: ANN401 - of a document
    """Return a value that a field may have and does not have by default."""
    schema: Any = field.type
    match schema["type"]:
        case "int":
            return 8
        case "bool":
            return not field.default
        case "literal":
            return next(value for value in schema["expected"] if value != field.default)
        case "union":
            return another(field._replace(type=schema["choices"][-1]))
        case "list":
            return [another(field._replace(type=schema["items_schema"]))]
    raise AssertionError(schema["type"])


PLACES = [
    *(((), field) for field in HEAD_FIELDS),
    *((("sequence",), field) for field in SEQUENCE.fields if not field.required),
    *((("items", 0), field) for field in ITEM.fields if not field.required and field.get is None),
]
"""Where each field lies that a workload may leave out, and that stands for itself alone."""


@pytest.mark.parametrize(("path", "field"), PLACES, ids=lambda value: getattr(value, "name", None))
def test_a_field_is_read_written_and_compared(path: tuple[str | int, ...], field: Field) -> None:
    """A failure means that a field is in the shape, and lost on the way through."""
    data = workload()
    given: Any = data
    for key in path:
        given = given[key]
    given[field.name] = another(field)
    loaded = load_workload(data)
    back: Any = loaded.to_data()
    for key in path:
        back = back[key]
    assert back[field.name] == another(field)
    assert load_workload(loaded.to_data()) == loaded

    empty = {"param_plan": {}, "boundary_classes": {}}
    plans = [Plan({**empty, "feature_exchange": one}, Place("p")) for one in (workload(), data)]
    compared = compare_plans(*plans)
    (change,) = (*compared.fields, *(one for names in compared.changed for one in names.changes))
    assert change.field.rpartition(".")[2] == field.name
    tables = [plan_routes(parse_mesh("tp=8"), load_workload(one)) for one in (workload(), data)]
    assert not compare_routes(*tables).equal


def test_what_is_not_there_is_the_default() -> None:
    """A failure means that a default is stated twice, and that the two differ."""
    loaded = load_workload(workload())
    fields = (*HEAD_FIELDS, *(field for field in SEQUENCE.fields if not field.required))
    assert {field.name: getattr(loaded, field.name) for field in fields} == {
        field.name: field.default for field in fields
    }
