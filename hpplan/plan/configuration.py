"""The shape of a configuration file: which plans belong to which rules, and how they are looked at."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, core_schema

from hpplan.diagnostics import Diagnostic
from hpplan.documents.configuration_codes import MISSING_SETTING, MISTYPED_SETTING, UNKNOWN_SETTING
from hpplan.documents.schema_reference import SCHEMA_FIELD
from hpplan.nearest import nearest_name
from hpplan.plan.shape import FLAG, NAMES, TEXT, check_shape, described, one_of, record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core.core_schema import CoreSchema

    from hpplan.diagnostics import Place

_SEVERAL = one_of(TEXT, NAMES, belongs="a string or a list of strings")

FILE_SETTINGS = ("rules", "strategies", "model", "workload", "normalized")
"""Settings that name a file: from the folder of the configuration file, and with placeholders."""

_FILE = "{folder} and {name} stand for the folder and the name, less its ending, of the plan."

_SETTINGS = {
    "rules": described(TEXT, f"Inline rules, or a HyperParallel training YAML. {_FILE}"),
    "strategies": described(TEXT, f"Strategies that join the others and win. {_FILE}"),
    "model_type": described(TEXT, "Model type; wins over that of the rules and the plan."),
    "mesh": described(TEXT, "Axes outermost first, such as dp=2,cp=2,tp=4,sp."),
    "model": described(
        TEXT, f"A model's config.json, or the folder that has it, to hold plans against. {_FILE}"
    ),
    "workload": described(TEXT, f"The workload of a plan that has none, or another than its own. {_FILE}"),
    "normalized": described(TEXT, f"Where the normalized plan goes; without it, to the plan itself. {_FILE}"),
    "strict": described(FLAG, "Treat warnings as errors."),
    "bare": described(FLAG, "Leave out the normalization record."),
    "select": described(_SEVERAL, "Report only these codes: ids, beginnings of ids, names."),
    "ignore": described(_SEVERAL, "Leave these codes out; wins over select."),
}

_PLANS = {
    "files": described(_SEVERAL, "Plans: files, folders and patterns, from the folder of this file."),
    "exclude": described(_SEVERAL, "Of these, what does not count: files, folders and patterns."),
    **_SETTINGS,
}


def _settings(title: str, fields: Mapping[str, CoreSchema], *required: str) -> CoreSchema:
    """Return the schema of a table in which editors mark what is no setting."""
    schema = record(fields, required=required)
    return {**schema, "metadata": {"pydantic_js_updates": {"title": title, "additionalProperties": False}}}


CONFIGURATION_SCHEMA = _settings(
    "Configuration",
    {
        **_SETTINGS,
        "plans": described(
            core_schema.list_schema(_settings("Plans", _PLANS, "files"), strict=True),
            "Plans that have settings in common; of several that match, the first counts.",
        ),
    },
)


def check_configuration(data: object, place: Place) -> Iterator[Diagnostic]:
    """Yield everything in which the settings are of another shape, or are none."""
    for item in check_shape(_validator(), data, place, missing=MISSING_SETTING):
        code = item.code if item.code is MISSING_SETTING else MISTYPED_SETTING
        of_tables = item.place == place.at("plans")
        hint = "each table of plans begins with `[[plans]]`" if of_tables else None
        yield Diagnostic(code, item.message, item.place, hint)
    if not isinstance(data, dict):
        return
    yield from _unknown(data, (*_SETTINGS, "plans", SCHEMA_FIELD), place, "it stands in a table `[[plans]]`")
    plans = data.get("plans")
    for index, item in enumerate(plans if isinstance(plans, list) else ()):
        if isinstance(item, dict):
            yield from _unknown(item, tuple(_PLANS), place.at("plans", index), "")


def _unknown(
    data: Mapping[str, Any], known: tuple[str, ...], place: Place, files: str
) -> Iterator[Diagnostic]:
    for name in data:
        if name not in known:
            near = nearest_name(name, known)
            hint = files if name in {"files", "exclude"} else f"did you mean `{near}`?" if near else None
            yield Diagnostic(UNKNOWN_SETTING, f"there is no setting `{name}`", place.key(name), hint)


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(CONFIGURATION_SCHEMA)
