"""Checking files, each with the settings that its configuration and the command line give it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hpplan.diagnostics import Diagnostic, as_errors
from hpplan.documents.reader import Document, read_document
from hpplan.documents.source import Sources
from hpplan.errors import InvalidInput
from hpplan.models.facts import ModelFacts
from hpplan.plan.settings import Settings
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.catalog import codes_called
from hpplan.validation.configurations import Configurations
from hpplan.validation.kinds import kind_of_document
from hpplan.validation.named_documents import NamedDocuments
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from hpplan.validation.configuration import Configuration


class FileChecks:
    """Checks files together where the same settings hold for them, and tables against all plans."""

    def __init__(
        self,
        sources: Sources,
        documents: NamedDocuments,
        configurations: Configurations,
        read_model: Callable[[str], ModelFacts],
        given: Mapping[str, object],
    ) -> None:
        """Take what reads documents and models, and the settings that the command line gives."""
        self._sources, self._documents, self._configurations = sources, documents, configurations
        self._read_model, self._given = read_model, given
        self._runs: dict[Settings, CheckRun] = {}
        self._unread: list[Diagnostic] = []
        self._files: set[str] = set()
        self._plans: list[str] = []
        self._models: dict[str, ModelFacts] = {}

    @property
    def files(self) -> int:
        """How many files were read, those beside documents too."""
        return len(self._files)

    def check(self, path: str, *, beside: bool, named: bool = False) -> None:
        """Check the document at a path, and what it is normalized into; with `beside`, its workload too."""
        settings = self._configurations.settings(path)
        try:
            document = self._documents.read(path, named=named)
            if document is None:
                return
            is_plan = kind_of_document(document.data) == "plan"
            if is_plan:
                self._plans.append(path)
                self._configurations.check([path])
            run = self._run_for(settings, sure=is_plan)
        except InvalidInput as failure:
            self._files.add(os.path.realpath(path))
            self._unread += failure.diagnostics
            self._run_for(settings, sure=False)
            return
        self._files.add(os.path.realpath(path))
        run.check(document)
        others = (settings.normalized, settings.workload if beside else None) if is_plan else ()
        for other in map(_there, others):
            # Of a normalized plan, the settings are those of the plan that it comes from.
            if other is not None and os.path.realpath(other) not in self._files:
                self.check(other, beside=False, named=True)

    def _run_for(self, settings: Settings, *, sure: bool) -> CheckRun:
        """Return the run with such settings; only a plan's rules and strategies are `sure` to be there."""
        if not sure:
            rules, strategies, model = map(_there, (settings.rules, settings.strategies, settings.model))
            settings = settings._replace(rules=rules, strategies=strategies, model=model)
        # What does not change what is found.
        key = settings.under(**self._given)._replace(workload=None, normalized=None, bare=False)
        if key not in self._runs:
            mesh = None if key.mesh is None else parse_mesh(key.mesh)
            run = self._runs[key] = CheckRun(key.model_type, mesh)
            self._use(run, key.rules, lambda path: run.use_rules(self._read(path)))
            self._use(run, key.strategies, lambda path: run.use_strategies(self._read(path)))
            self._use(run, key.model, lambda path: self._use_model(run, path))
        return self._runs[key]

    def _use(self, run: CheckRun, path: str | None, use: Callable[[str], None]) -> None:
        """Give a run what is at a path; what is wrong with that is a finding too."""
        if path is not None:
            self._files.add(os.path.realpath(path))
            with self._documents.failures:
                try:
                    use(path)
                except InvalidInput as failure:
                    run.blocking.extend(failure.diagnostics)

    def _read(self, path: str) -> Document:
        return read_document(path, self._sources)

    def _use_model(self, run: CheckRun, path: str) -> None:
        if path not in self._models:
            self._models[path] = self._read_model(path)
        run.model = self._models[path]

    def findings(self, whole: Configuration | None) -> list[Diagnostic]:
        """Return what was found in all documents; `whole` is the configuration that named them."""
        try:
            self._configurations.check(self._plans, whole)
        except InvalidInput as failure:
            self._unread += failure.diagnostics
        findings = self._unread
        for key, run in self._runs.items():
            run.finish(other for other in self._runs.values() if other is not run)
            select, ignore = (
                {code for text in texts for code in codes_called(text)} for texts in (key.select, key.ignore)
            )
            chosen = run.chosen(select if key.select else None, ignore)
            findings += as_errors(chosen) if key.strict else chosen
        return list(dict.fromkeys(findings))


def _there(path: str | None) -> str | None:
    return path if path is not None and os.path.exists(path) else None  # noqa: PTH110 - pathlib takes longer to import
