"""Checking data against a core schema, with findings that say what belongs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError, core_schema

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.plan.codes import MALFORMED_PLACEMENT, MISSING_FIELD, MISTYPED_FIELD, NAME_TOO_LONG
from hpplan.plan.placement import PLACEMENT_PATTERN, parse_placement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core.core_schema import CoreSchema

LONGEST_NAME = 1000
"""Characters of a name or pattern: findings, changes and records repeat it for each module concerned."""

TEXT = core_schema.str_schema(strict=True)
NAME = core_schema.str_schema(strict=True, max_length=LONGEST_NAME)
FLAG = core_schema.bool_schema(strict=True)
NAMES = core_schema.list_schema(NAME, strict=True)
TEXTS = core_schema.list_schema(TEXT, strict=True)
ANYTHING = core_schema.any_schema()
MAPPING = core_schema.dict_schema(TEXT, ANYTHING, strict=True)
RECORDS = core_schema.list_schema(MAPPING, strict=True)

BELONGS = {
    "dict_type": "a mapping",
    "list_type": "a list",
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
}
"""What belongs where the validator reports an error of some type."""


def count(least: int) -> CoreSchema:
    """Return the schema of a whole number that is at least `least`, and that every reader takes exactly."""
    return core_schema.int_schema(strict=True, ge=least, le=LARGEST_NUMBER)


def record(
    fields: Mapping[str, CoreSchema], *, required: tuple[str, ...] = (), title: str | None = None
) -> CoreSchema:
    """Return the schema of a mapping with known fields; unknown keys are kept, so they are allowed."""
    return core_schema.typed_dict_schema(
        {
            name: core_schema.typed_dict_field(schema, required=name in required)
            for name, schema in fields.items()
        },
        extra_behavior="allow",
        strict=True,
        metadata={"pydantic_js_updates": {"title": title}} if title else None,
    )


def described(schema: CoreSchema, description: str) -> CoreSchema:
    """Return a schema with a description for its JSON Schema."""
    known = schema.get("metadata", {}).get("pydantic_js_updates", {})
    return {**schema, "metadata": {"pydantic_js_updates": {**known, "description": description}}}


def one_of(*choices: CoreSchema, belongs: str) -> CoreSchema:
    """Return the schema of a value that may have several types; `belongs` names them."""
    return core_schema.union_schema(
        list(choices),
        custom_error_type="wrong_type",
        custom_error_message=belongs,
    )


def check_shape(
    validator: SchemaValidator, data: object, place: Place, *, missing: Code = MISSING_FIELD
) -> Iterator[Diagnostic]:
    """Yield everything in which `data` departs from the validator's schema."""
    try:
        validator.validate_python(data)
    except ValidationError as failure:
        for error in failure.errors(include_url=False, include_context=True):
            yield _diagnostic(error, place, missing)


def kind_of(value: object) -> str:
    """Name the type of a value as people who write YAML do."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        shown = value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "…"
        return f"the string '{shown}'"
    return f"the number {value}"


_LONGEST_SHOWN = 60


def _diagnostic(error: Any, place: Place, missing: Code) -> Diagnostic:  # noqa: ANN401 - pydantic_core's error dict
    path = tuple(error["loc"])
    kind = error["type"]
    where = place.at(*path)
    name = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "the list element"
    found = error["input"]
    if kind == "string_too_long":
        return name_too_long(place.key(*path[:-1]) if path[-2:] == (found, "[key]") else where)
    if kind == "missing":
        return Diagnostic(missing, f"the field {name} is missing", place.at(*path[:-1]))
    if kind == "string_pattern_mismatch" and error["ctx"]["pattern"] == PLACEMENT_PATTERN:
        return Diagnostic(
            MALFORMED_PLACEMENT,
            f"{found!r} on axis {name} is no placement",
            where,
            hint=_placement_hint(found),
        )
    if kind == "greater_than_equal":
        return Diagnostic(MISTYPED_FIELD, f"{name} must be at least {error['ctx']['ge']}, not {found}", where)
    if kind == "less_than_equal":
        return Diagnostic(MISTYPED_FIELD, f"{name} must be at most 2^53 - 1", where)
    belongs = BELONGS.get(kind) or (error["msg"] if kind == "wrong_type" else kind.replace("_", " "))
    if kind in {"string_type", "list_type", "dict_type"} and not path:
        name = "the document"
    return Diagnostic(
        MISTYPED_FIELD, f"{name} must be {belongs}, not {kind_of(found)}", where, hint=_type_hint(kind, found)
    )


def name_too_long(place: Place) -> Diagnostic:
    """Return the finding about a name or pattern that is too long."""
    message = f"a name or pattern of more than {LONGEST_NAME:,} characters"
    return Diagnostic(NAME_TOO_LONG, message, place)


def _placement_hint(found: str) -> str:
    bare = "".join(found.split())
    guess = {"Replicate": "R", "Replicate()": "R", "r": "R", "replicate": "R", "Partial": "P(sum)"}.get(bare)
    if guess is None:
        for long, short in (("Shard(", "S("), ("StridedShard(", "SS("), ("Partial(", "P("), ("s(", "S(")):
            if bare.startswith(long):
                guess = short + bare[len(long) :]
    if guess is None and bare != found:
        guess = bare
    forms = "write R, P(op), S(d) or SS(d,f)"
    return f"did you mean '{guess}'? {forms}" if guess and _is_placement(guess) else forms


def _is_placement(text: str) -> bool:
    try:
        parse_placement(text)
    except ValueError:
        return False
    return True


def _type_hint(kind: str, found: object) -> str | None:
    if kind == "bool_type" and isinstance(found, str) and found.lower() in {"yes", "no", "on", "off"}:
        meant = "true" if found.lower() in {"yes", "on"} else "false"
        return f"write {meant}; in YAML 1.2 '{found}' is a string"
    if kind == "list_type" and isinstance(found, str):
        return f"write [{found}]"
    if kind == "string_type" and isinstance(found, bool | int | float):
        return "put it in quotes"
    return None
