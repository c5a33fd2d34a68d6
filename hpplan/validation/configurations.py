"""Configuration files: where they are found, and what they say of the plans of a command line."""
# pathlib takes longer to import than a plan to read.
# ruff: noqa: PTH100, PTH113, PTH117, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hpplan.documents.source import Sources
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from hpplan.plan.settings import Settings
    from hpplan.validation.configuration import Configuration

FILE, SHARED_FILE = "hpplan.toml", "pyproject.toml"
"""The names of a configuration file: one of ours, and one in which we have a table."""

_TABLE = re.compile(rb"(?m)^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*hpplan[ \t]*[].]")


class Configurations:
    """The configuration files of a run: that of each plan is the nearest in its folder and above.

    `chosen` is one that counts for all plans instead, and `off` says that none does.
    """

    def __init__(self, sources: Sources, chosen: str | None, *, off: bool) -> None:
        """Read nothing yet."""
        self._sources, self._chosen, self._off = sources, chosen, off
        self._known: dict[str, Configuration | None] = {}

    @property
    def arguments(self) -> list[str]:
        """The options that make another process look at the same files."""
        chosen = [] if self._chosen is None else ["--config", self._chosen]
        return ["--no-config"] if self._off else chosen

    def of_folder(self, folder: str) -> Configuration | None:
        """Return the configuration that counts in a folder; raise InvalidInput where it is wrong."""
        if self._off:
            return None
        if self._chosen is not None:
            chosen = self._read(self._chosen, os.path.dirname(self._chosen))
            if chosen is None:
                raise UnusableRequest(f"There is no table [tool.hpplan] in {self._chosen}.")
            return chosen
        try:
            here = start = os.path.abspath(folder)
        except OSError:  # the working directory is gone
            return None
        while True:
            above = here if os.path.isabs(folder) else os.path.relpath(here)
            above = "" if above == os.curdir else above
            for name in (FILE, SHARED_FILE):
                if os.path.isfile(os.path.join(here, name)):
                    configuration = self._read(os.path.join(above, name), above)
                    if configuration is not None:
                        return configuration
            start, here = here, os.path.dirname(here)
            if here == start:
                return None

    def of(self, path: str) -> Configuration | None:
        """Return the configuration that counts for what is at a path; for standard input there is none."""
        return None if path == "-" else self.of_folder(os.path.dirname(path))

    def settings(self, path: str) -> Settings:
        """Return what holds for the plan at a path."""
        from hpplan.plan.settings import Settings

        configuration = self.of(path)
        return Settings() if configuration is None else configuration.settings(path)

    def check(self, plans: Iterable[str], whole: Configuration | None = None) -> None:
        """Raise InvalidInput for what configurations say wrong of plans; `whole` is one that named them."""
        by_configuration: dict[int, tuple[Configuration, list[str]]] = {}
        if whole is not None:
            by_configuration[id(whole)] = (whole, [])
        for path in plans:
            theirs = self.of(path)
            if theirs is not None:
                by_configuration.setdefault(id(theirs), (theirs, []))[1].append(path)
        for configuration, paths in by_configuration.values():
            configuration.check(paths, whole=configuration is whole)

    def source_of(self, path: str) -> str:
        """Return the plan that is normalized into the file at a path, or that path."""
        configuration = self.of(path)
        return path if configuration is None else configuration.source_of(path)

    def _read(self, path: str, folder: str) -> Configuration | None:
        """Return the configuration in a file, or None where a shared one has none."""
        if path not in self._known:
            from hpplan.documents.disk.streams import read_bytes

            raw = read_bytes(path)
            shared = os.path.basename(path) == SHARED_FILE
            self._known[path] = (
                self._parsed(raw, path, folder, shared=shared) if not shared or _TABLE.search(raw) else None
            )
        return self._known[path]

    def _parsed(self, raw: bytes, path: str, folder: str, *, shared: bool) -> Configuration:
        from hpplan.diagnostics import Place
        from hpplan.documents.toml_data import parse_toml
        from hpplan.validation.configuration import Configuration

        data, place = parse_toml(raw, path, self._sources), Place(path)
        for name in ("tool", "hpplan") if shared else ():
            data, place = data[name], place.at(name)
        return Configuration(data, place, folder)
