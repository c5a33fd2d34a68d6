"""Findings about data that has not its shape: pydantic's errors in our words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from pydantic_core import SchemaValidator, ValidationError

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.schema_reference import SCHEMA_FIELD
from hpplan.nearest import nearest_name
from hpplan.shapes.shape import Shape

_BELONGS = {
    "dict_type": "a mapping",
    "list_type": "a list",
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
}
"""What belongs where pydantic reports an error of some type."""

_LONGEST_SHOWN = 60


class Codes(NamedTuple):
    """The codes of findings about a kind of document; `noun` is what it is called.

    What is out of range is mistyped unless it has codes of its own. `unknown`
    returns the finding about an unknown field from its name, those that are
    known there, and its place.
    """

    missing: Code
    mistyped: Code
    too_small: Code | None = None
    too_large: Code | None = None
    unknown: Callable[[str, Sequence[str], Place], Diagnostic] | None = None
    noun: str = "the document"


class Checker:
    """Finds everything in which data departs from a shape."""

    def __init__(self, shape: Shape, codes: Codes, *, hints: bool = True) -> None:
        """Check for a shape; the validator is made when it is needed."""
        self._schema = shape.schema
        self._codes = codes
        self._hints = hints

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self._schema)

    def __call__(self, data: object, place: Place) -> Iterator[Diagnostic]:
        """Yield the findings, each on its own; an unknown field in every element of a list is one."""
        try:
            self._validator.validate_python(data)
        except ValidationError as failure:
            seen: set[tuple[str, ...]] = {(SCHEMA_FIELD,)}
            for error in failure.errors(include_url=False, include_context=True):
                if error["type"] == "extra_forbidden":
                    pattern = tuple("*" if isinstance(key, int) else key for key in error["loc"])
                    if pattern in seen:
                        continue
                    seen.add(pattern)
                yield self._finding(error, place)

    def _finding(self, error: Any, place: Place) -> Diagnostic:  # noqa: ANN401 - pydantic_core's error dict
        path, kind, value = tuple(error["loc"]), error["type"], error["input"]
        of_key = path[-2:] == (value, "[key]")
        if of_key:
            path = path[:-1]
        codes = self._codes
        where = place.key(*path) if of_key else place.at(*path)
        name = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "the list element"
        schema = _below(self._schema, path[:-1] if of_key else path)
        told = (schema["keys_schema"] if of_key else schema).get("metadata", {}).get("told", {}).get(kind)
        if callable(told):
            finding: Diagnostic = told(name, value, where)
            return finding
        if kind == "missing":
            return Diagnostic(codes.missing, f"the field {name} is missing", place.at(*path[:-1]))
        if kind == "extra_forbidden" and codes.unknown is not None:
            known = tuple(_below(self._schema, path[:-1])["fields"])
            return codes.unknown(str(path[-1]), known, place.key(*path))
        if kind == "greater_than_equal":
            message = f"{name} must be at least {error['ctx']['ge']}, not {value}"
            return Diagnostic(codes.too_small or codes.mistyped, message, where)
        if kind == "less_than_equal":
            return Diagnostic(codes.too_large or codes.mistyped, f"{name} must be at most 2^53 - 1", where)
        if kind == "invalid_key":
            name, told = "a key", "a string"
        belongs = told or _BELONGS.get(kind) or error["msg"].removeprefix("Input should be ")
        hint = _type_hint(kind, value) if self._hints else None
        if not path:
            name = codes.noun
        return Diagnostic(codes.mistyped, f"{name} must be {belongs}, not {kind_of(value)}", where, hint)


def ignored(code: Code) -> Callable[[str, Sequence[str], Place], Diagnostic]:
    """Return how to tell of an unknown field that changes nothing."""

    def finding(name: str, known: Sequence[str], place: Place) -> Diagnostic:
        near = nearest_name(name, known)
        message = f"the field `{name}` is not known and is ignored"
        return Diagnostic(code, message, place, hint=f"did you mean `{near}`?" if near else None)

    return finding


def one_of_names(names: Sequence[str], code: Code) -> Callable[[str, object, Place], Diagnostic]:
    """Return how to tell that a value is none of some names."""

    def finding(name: str, value: object, place: Place) -> Diagnostic:
        near = nearest_name(str(value), names, 0.4)
        message = f"{name} must be one of {', '.join(names)}, not {kind_of(value)}"
        return Diagnostic(code, message, place, hint=f"did you mean '{near}'?" if near else None)

    return finding


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


def _below(schema: Any, path: Sequence[str | int]) -> Any:  # noqa: ANN401 - a core schema is a union of typed dicts
    """Return the schema of what lies at a path; empty where that is nothing known."""
    for key in path:
        if schema["type"] == "nullable":
            schema = schema["schema"]
        if schema["type"] == "typed-dict":
            schema = schema["fields"].get(key, {"schema": {"type": "any"}})["schema"]
        elif schema["type"] in {"list", "dict"}:
            schema = schema.get("items_schema") or schema["values_schema"]
        else:
            return {}
    return schema


def _type_hint(kind: str, value: object) -> str | None:
    if kind == "bool_type" and isinstance(value, str) and value.lower() in {"yes", "no", "on", "off"}:
        meant = "true" if value.lower() in {"yes", "on"} else "false"
        return f"write {meant}; in YAML 1.2 '{value}' is a string"
    if kind == "list_type" and isinstance(value, str):
        return f"write [{value}]"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "put it in quotes"
    return None
