"""What a configuration file says of each plan."""
# pathlib takes longer to import than a plan to read.
# ruff: noqa: PTH110, PTH112, PTH113, PTH117, PTH118, PTH122

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.configuration_codes import (
    MISTYPED_SETTING,
    UNKNOWN_CODE,
    UNKNOWN_SETTING,
    UNMATCHED_FILES,
    UNUSABLE_TARGET,
)
from hpplan.documents.disk.folder import files_in, named
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.nearest import nearest_name
from hpplan.plan.configuration import FILE_SETTINGS, check_configuration
from hpplan.plan.settings import Settings
from hpplan.routing.mesh import parse_mesh

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDERS = ("folder", "name")


_READ = tuple(name for name in FILE_SETTINGS if name != "normalized")
"""Settings that name a file which is read."""

_NOWHERE = Place("")


class _Section(NamedTuple):
    """One table `[[plans]]`, with what the top of the file says where it says nothing."""

    data: Mapping[str, Any]
    place: Place
    above: Mapping[str, Any]
    top: Place

    def get(self, name: str) -> Any:  # noqa: ANN401 - of a document
        return self.data.get(name, self.above.get(name))

    def place_of(self, name: str) -> Place:
        return (self.place if name in self.data else self.top).at(name)


class _Matched(NamedTuple):
    """What an entry of `files` stands for that none before it does, and whether it stands for `any`."""

    section: _Section
    place: Place
    files: list[str]
    any: bool


class Configuration:
    """The settings in one file; paths in it count from its folder."""

    def __init__(self, data: Mapping[str, Any], place: Place, folder: str) -> None:
        """Take the settings; raise InvalidInput with everything that is wrong with them."""
        self.name = place.document
        self._folder = folder
        problems = list(check_configuration(data, place))
        if not problems:
            self._top = _Section({}, place, data, place)
            self._sections = [
                _Section(section, place.at("plans", index), data, place)
                for index, section in enumerate(data.get("plans", ()))
            ]
            for where, values in (
                (place, data),
                *((section.place, section.data) for section in self._sections),
            ):
                problems += _check_values(values, where)
        if problems:
            raise InvalidInput(problems)

    @cached_property
    def _matched(self) -> list[_Matched]:
        """What each entry of `files` stands for, less what an entry before it does."""
        seen: set[str] = set()
        matched = []
        for section in self._sections:
            left_out = (self._files(entry) for entry, _ in _entries(section.data, "exclude"))
            excluded = {_identity(path) for path in chain.from_iterable(left_out)}
            for entry, place in _entries(section.data, "files", section.place):
                paths = self._files(entry)
                new = [path for path in paths if _identity(path) not in seen | excluded]
                seen |= {_identity(path) for path in new}
                matched.append(_Matched(section, place, new, bool(paths)))
        return matched

    def _files(self, entry: str) -> list[str]:
        try:
            paths = named([self._path(entry)])
        except UnusableRequest:
            return []
        files = (files_in(path) if os.path.isdir(path) else [path] for path in paths)
        return [path for path in chain.from_iterable(files) if os.path.isfile(path)]

    def _path(self, name: str) -> str:
        """Return a path from the folder of the configuration as one from the working directory."""
        path = os.path.join(self._folder, name)
        return os.path.normpath(path) if os.path.isabs(path) else os.path.relpath(path)

    @cached_property
    def _known(self) -> dict[str, tuple[_Section, Settings]]:
        return {
            _identity(path): (entry.section, self._of(entry.section, path))
            for entry in self._matched
            for path in entry.files
        }

    @cached_property
    def _owners(self) -> dict[str, str]:
        """The first plan that each file belongs to which lies beside plans."""
        return self._beside(*FILE_SETTINGS)

    @cached_property
    def _sources(self) -> dict[str, str]:
        """The plan that each normalized plan comes from."""
        return self._beside("normalized")

    def _beside(self, *names: str) -> dict[str, str]:
        outputs: dict[str, str] = {}
        for path in (path for entry in self._matched for path in entry.files):
            files = (getattr(self._known[_identity(path)][1], name) for name in names)
            for file in files:
                if file is not None:
                    outputs.setdefault(_identity(file), path)
        return outputs

    @property
    def names_plans(self) -> bool:
        """Whether there is a table of plans."""
        return bool(self._sections)

    def plans(self) -> list[str]:
        """Return the paths of what may be plans, but not what they are normalized into."""
        paths = [path for entry in self._matched for path in entry.files]
        return [path for path in paths if _identity(path) not in self._sources]

    def source_of(self, path: str) -> str:
        """Return the plan that is normalized into the file at a path, or that path."""
        return self._sources.get(_identity(path), path)

    def settings(self, path: str) -> Settings:
        """Return what holds for a plan: what its table says, else what the top of the file says."""
        return self._entry(path)[1]

    def _entry(self, path: str) -> tuple[_Section, Settings]:
        owner = _identity(self._owners.get(_identity(path), path))
        return self._known.get(owner) or (self._top, self._of(self._top, path))

    def _of(self, section: _Section, path: str) -> Settings:
        values: dict[str, Any] = {name: section.get(name) for name in Settings._fields}
        folder, name = os.path.split(path)
        known = {
            "folder": os.path.relpath(folder or os.curdir, self._folder or os.curdir),
            "name": os.path.splitext(name)[0],
        }
        for setting in FILE_SETTINGS:
            if values[setting] is not None:
                spelled = _PLACEHOLDER.sub(lambda match: known[match[1]], values[setting])
                values[setting] = self._path(spelled)
        if values["normalized"] is not None and _identity(values["normalized"]) == _identity(path):
            values["normalized"] = None
        for setting in ("select", "ignore"):
            values[setting] = tuple(text for text, _ in _entries(values, setting)) or None
        return Settings(**{name: value for name, value in values.items() if value is not None})

    def check(self, plans: Iterable[str], *, whole: bool) -> None:
        """Raise InvalidInput for what the settings of these plans name and is not there, or is overwritten.

        With `whole`, these are all plans among the files that the configuration names.
        """
        plans = [path for path in plans if _identity(path) not in self._sources]
        problems = [problem for path in plans for problem in self._missing(path)]
        problems += self._overwritten(plans)
        read = {_identity(path) for path in plans} | self._sources.keys()
        for entry in self._matched if whole else ():
            if read.isdisjoint(_identity(path) for path in entry.files):
                message = "none of these files is a plan" if entry.files else "there is no such file"
                if entry.any and not entry.files:
                    message = "all of these files are excluded, or entries before this one have them"
                problems.append(Diagnostic(UNMATCHED_FILES, message, entry.place))
        if problems:
            raise InvalidInput(dict.fromkeys(problems))

    def _missing(self, path: str) -> Iterator[Diagnostic]:
        section, settings = self._entry(path)
        for name in _READ:
            file = getattr(settings, name)
            if file is not None and not os.path.exists(file):
                message = f"there is no file {file}, which is to hold the {name} of {path}"
                yield Diagnostic(UNMATCHED_FILES, message, section.place_of(name))

    def _overwritten(self, plans: list[str]) -> Iterator[Diagnostic]:
        taken = {_identity(path): "a plan itself" for path in plans}
        for path in plans:
            beside = (getattr(self.settings(path), name) for name in _READ)
            taken |= {_identity(file): f"read for {path}" for file in beside if file is not None}
        for path in plans:
            section, settings = self._entry(path)
            if settings.normalized is not None:
                place = section.place_of("normalized")
                top = os.path.join(_identity(self._folder), "")
                if not _identity(settings.normalized).startswith(top):
                    message = f"{settings.normalized} lies outside the folder of {self.name}"
                    yield Diagnostic(UNUSABLE_TARGET, message, place)
                use = f"the normalized plan of {path}"
                other = taken.setdefault(_identity(settings.normalized), use)
                if other != use:
                    message = f"{path} is normalized into {settings.normalized}, which is {other}"
                    yield Diagnostic(UNUSABLE_TARGET, message, place)


def _identity(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # no file can have such a name
        return path


def _entries(data: Mapping[str, Any], name: str, place: Place = _NOWHERE) -> list[tuple[str, Place]]:
    """Return the texts of a setting that is one or a list of them, each with its place."""
    value = data.get(name)
    if isinstance(value, str):
        return [(value, place.at(name))]
    return [(text, place.at(name, index)) for index, text in enumerate(value or ())]


def _check_values(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield what is wrong with values whose types are right."""
    from hpplan.validation.catalog import all_codes, codes_called

    for name in data.keys() - {"plans", "strict", "bare"}:
        for text, where in _entries(data, name, place):
            if text == "":
                yield Diagnostic(MISTYPED_SETTING, f"`{name}` is empty", where)
            elif name in FILE_SETTINGS:
                yield from _check_placeholders(text, where)
            elif name in {"select", "ignore"} and not codes_called(text):
                near = nearest_name(text.lower(), [code.name for code in all_codes()])
                hint = f"did you mean '{near}'?" if near else "`hpplan explain --all` lists the codes"
                yield Diagnostic(UNKNOWN_CODE, f"no code is called '{text}'", where, hint)
            elif name == "mesh":
                try:
                    parse_mesh(text)
                except InvalidInput as error:
                    yield from (replace(finding, place=where) for finding in error.diagnostics)


def _check_placeholders(text: str, place: Place) -> Iterator[Diagnostic]:
    for name in _PLACEHOLDER.findall(text):
        if name not in _PLACEHOLDERS:
            near = nearest_name(name, _PLACEHOLDERS)
            hint = f"did you mean {{{near}}}?" if near else "there are {folder} and {name}"
            yield Diagnostic(UNKNOWN_SETTING, f"there is no placeholder {{{name}}}", place, hint)
