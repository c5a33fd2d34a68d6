"""A made-up document: what one table of fields gives, and what a field that is added to it gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic.json_schema import GenerateJsonSchema

from hpplan.comparison.plans import compare_plans
from hpplan.diagnostics import Code, Place
from hpplan.plan.model import ENTRY, PLAN, Plan
from hpplan.shapes.answer import Answer
from hpplan.shapes.findings import Checker, Codes, ignored
from hpplan.shapes.shape import (
    FLAG,
    TEXT,
    Field,
    Shape,
    count,
    key_order,
    list_of,
    text,
    told,
    values,
    written,
)

PLACE = Place("garden.yaml")
MISSING, MISTYPED, SMALL, UNKNOWN = (
    Code(f"HP99{number}", name, "error", "")
    for number, name in enumerate(("missing", "mistyped", "small", "unknown"))
)
BED = Shape("Bed", Field("plant", TEXT, "What grows.", required=True), Field("rows", count(1), "Of plants."))
FIELDS = (
    Field("name", TEXT, "What it is called.", required=True),
    Field("width", count(1), "In metres.", default=3),
    Field("fence", FLAG, "Whether there is one.", default=False),
    Field("beds", list_of(BED), "What is in it.", default=()),
)
ADDED = Field(
    "colour",
    told(text(pattern="^[a-z]+$"), string_pattern_mismatch="a colour"),
    "Of the gate.",
    default="red",
)


def garden(*fields: Field) -> Shape:
    """Return the shape of a garden."""
    return Shape("Garden", *fields, unknown="told")


def found(data: object, *fields: Field) -> list[tuple[str, str, str]]:
    """Return name, message and path of each finding about a garden."""
    codes = Codes(MISSING, MISTYPED, too_small=SMALL, unknown=ignored(UNKNOWN), noun="the garden")
    findings = Checker(garden(*fields), codes)(data, PLACE)
    return [(one.code.name, one.message, ".".join(map(str, one.place.path))) for one in findings]


def test_a_table_checks_a_document() -> None:
    """A fault is not found, or told in pydantic's words."""
    assert found({"name": "a", "beds": [{"plant": "b", "rows": 1}]}, *FIELDS) == []
    assert found([], *FIELDS) == [("mistyped", "the garden must be a mapping, not a list", "")]
    data = {
        "width": 0,
        "fence": "no",
        "beds": [{"plant": 1, "row": 2}, {"plant": "c", "rows": 2**60}],
        "neam": 1,
    }
    assert found(data, *FIELDS) == [
        ("missing", "the field `name` is missing", ""),
        ("small", "`width` must be at least 1, not 0", "width"),
        ("mistyped", "`fence` must be true or false, not the string 'no'", "fence"),
        ("mistyped", "`plant` must be a string, not the number 1", "beds.0.plant"),
        ("mistyped", "`rows` must be at most 2^53 - 1", "beds.1.rows"),
        ("unknown", "the field `neam` is not known and is ignored", "neam"),
    ]


def test_an_added_field_is_everywhere() -> None:
    """A failure means that a field has to be told of in a second place."""
    shape = garden(*FIELDS, ADDED)
    schema = GenerateJsonSchema().generate(shape.schema)
    assert schema["properties"]["colour"]["description"] == "Of the gate; red when absent."
    assert schema["properties"]["width"]["description"] == "In metres; 3 when absent."
    assert all(field["description"] for field in schema["properties"].values())
    assert key_order(shape) == {(): (*(field.name for field in FIELDS), "colour"), ("beds", "*"): BED.names}
    read: Any = SimpleNamespace(**values(shape.fields, {"name": "a", "colour": "blue"}))
    assert (read.colour, read.width, read.fence, read.beds) == ("blue", 3, False, ())
    assert written(shape.fields, read) == {"name": "a", "width": 3, "colour": "blue"}
    assert found({"name": "a", "colour": "RED"}, *FIELDS, ADDED) == [
        ("mistyped", "`colour` must be a colour, not the string 'RED'", "colour")
    ]
    assert found({"name": "a", "colour": "red"}, *FIELDS)[0][0] == "unknown"


def test_an_answer_has_every_field() -> None:
    """A program that reads an answer does not find a field, or finds one that its schema does not have."""
    answer = Answer(None, *FIELDS, ADDED, optional=("beds",))
    data = {"name": "a", "width": 1, "fence": None, "beds": None, "colour": ("x", ("y",))}
    assert answer.of(data, name="b") == {"name": "b", "width": 1, "fence": None, "colour": ["x", ["y"]]}
    assert GenerateJsonSchema().generate(answer.schema)["required"] == ["name", "width", "fence", "colour"]
    with pytest.raises(AssertionError):
        answer.of(data, size=3)


SCALARS: dict[str, tuple[Any, Any]] = {"str": ("a", "b"), "int": (2, 4), "bool": (True, False), "any": (1, 2)}


def _values(schema: Any) -> list[Any]:  # noqa: ANN401 - a core schema is a union of typed dicts
    """Return two values of a type that mean different things."""
    kind = schema["type"]
    if kind in SCALARS:
        return ["S(0)", "S(1)"] if schema.get("pattern") else list(SCALARS[kind])
    if kind == "typed-dict":
        pairs = {name: _values(field["schema"]) for name, field in schema["fields"].items()}
        return [{name: pair[at] for name, pair in pairs.items()} for at in (0, 1)]
    inner = schema.get("schema") or schema.get("items_schema") or schema.get("values_schema")
    found = _values(inner or schema["choices"][0])
    return [[one] if kind == "list" else {"a": one} if kind == "dict" else one for one in found]


A_RECORD_OF_A_RUN = "normalization"


@pytest.mark.parametrize(
    "field",
    [field for field in (*PLAN.fields, *ENTRY.fields) if field.name != A_RECORD_OF_A_RUN],
    ids=lambda field: field.name,
)
def test_every_field_of_a_plan_is_compared(field: Field) -> None:
    """A failure means that `hpplan diff` says of two different plans that they mean the same."""
    empty = {"boundary_classes": {}, "param_plan": {"m": {"in_src": {"x": {}}}}}
    both = []
    for value in _values(field.type):
        own = {field.name: value} if field in PLAN.fields else {"param_plan": {"m": {field.name: value}}}
        both.append(Plan({**empty, **own}, PLACE))
    assert not compare_plans(*both).equal
    assert compare_plans(both[0], both[0]).equal
