"""The shape of a configuration file: which plans belong to which rules, and how they are looked at."""

from __future__ import annotations

from collections.abc import Sequence

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.configuration_codes import MISSING_SETTING, MISTYPED_SETTING, UNKNOWN_SETTING
from hpplan.nearest import nearest_name
from hpplan.plan.names import NAMES
from hpplan.shapes.findings import Checker, Codes, kind_of
from hpplan.shapes.shape import FLAG, TEXT, Field, Shape, list_of, one_of, told

_SEVERAL = one_of(TEXT, NAMES, belongs="a string or a list of strings")

FILE_SETTINGS = ("rules", "strategies", "model", "workload", "normalized")
"""Settings that name a file: from the folder of the configuration file, and with placeholders."""

_FILE = "{folder} and {name} stand for the folder and the name, less its ending, of the plan."

_SETTINGS = (
    Field("rules", TEXT, f"Inline rules, or a HyperParallel training YAML. {_FILE}"),
    Field("strategies", TEXT, f"Strategies that join the others and win. {_FILE}"),
    Field("model_type", TEXT, "Model type; wins over that of the rules and the plan."),
    Field("mesh", TEXT, "Axes outermost first, such as dp=2,cp=2,tp=4,sp."),
    Field("model", TEXT, f"A model's config.json, or the folder that has it, to hold plans against. {_FILE}"),
    Field("workload", TEXT, f"The workload of a plan that has none, or another than its own. {_FILE}"),
    Field("normalized", TEXT, f"Where the normalized plan goes; without it, to the plan itself. {_FILE}"),
    Field("strict", FLAG, "Treat warnings as errors."),
    Field("bare", FLAG, "Leave out the normalization record."),
    Field("select", _SEVERAL, "Report only these codes: ids, beginnings of ids, names."),
    Field("ignore", _SEVERAL, "Leave these codes out; wins over select."),
)
PLANS = Shape(
    "Plans",
    Field(
        "files", _SEVERAL, "Plans: files, folders and patterns, from the folder of this file.", required=True
    ),
    Field("exclude", _SEVERAL, "Of these, what does not count: files, folders and patterns."),
    *_SETTINGS,
    unknown="refused",
)


def _no_list(name: str, value: object, place: Place) -> Diagnostic:
    message = f"{name} must be a list, not {kind_of(value)}"
    return Diagnostic(MISTYPED_SETTING, message, place, "each table of plans begins with `[[plans]]`")


CONFIGURATION = Shape(
    "Configuration",
    *_SETTINGS,
    Field(
        "plans",
        told(list_of(PLANS), list_type=_no_list),
        "Plans that have settings in common; of several that match, the first counts.",
    ),
    unknown="refused",
)


def _no_setting(name: str, known: Sequence[str], place: Place) -> Diagnostic:
    near = nearest_name(name, known)
    hint = f"did you mean `{near}`?" if near else None
    if name in {"files", "exclude"}:
        hint = "it stands in a table `[[plans]]`"
    return Diagnostic(UNKNOWN_SETTING, f"there is no setting `{name}`", place, hint)


check_configuration = Checker(
    CONFIGURATION, Codes(missing=MISSING_SETTING, mistyped=MISTYPED_SETTING, unknown=_no_setting), hints=False
)
"""Yields everything in which the settings are of another shape, or are none."""
