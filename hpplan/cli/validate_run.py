"""The run behind `hpplan validate`: each document checked with the settings that hold for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hpplan.cli.inputs import as_errors
from hpplan.documents.reader import read_document
from hpplan.errors import InvalidInput
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.catalog import codes_called
from hpplan.validation.kinds import kind_of_document
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.cli.found import Found
    from hpplan.cli.output import Output
    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.reader import Document
    from hpplan.models.facts import ModelFacts
    from hpplan.plan.settings import Settings
    from hpplan.validation.configuration import Configuration


class ValidateRun:
    """Checks documents together where the same settings hold for them, and tables against all plans."""

    def __init__(self, output: Output, found: Found, given: Mapping[str, object]) -> None:
        """Take what reads documents, and the settings that the command line gives."""
        self._output, self._found, self._given = output, found, given
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
        known = self._output.configurations
        settings = known.settings(path)
        try:
            document = self._found.read(path, named=named)
            if document is None:
                return
            is_plan = kind_of_document(document.data) == "plan"
            if is_plan:
                self._plans.append(path)
                known.check([path])
            run = self._run_for(settings, sure=is_plan)
        except InvalidInput as failure:
            self._files.add(os.path.realpath(path))
            self._unread += failure.diagnostics
            self._run_for(settings, sure=False)
            return
        self._files.add(os.path.realpath(path))
        run.check(document)
        others = (settings.normalized, settings.workload if beside else None) if is_plan else ()
        for other in others:
            # Of a normalized plan, the settings are those of the plan that it comes from.
            if other is not None and os.path.exists(other) and os.path.realpath(other) not in self._files:  # noqa: PTH110 - pathlib takes longer to import
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
            for step, path in ((run.use_rules, key.rules), (run.use_strategies, key.strategies)):
                with self._found.failures:
                    if path is None:
                        continue
                    self._files.add(os.path.realpath(path))
                    try:
                        document: Document = read_document(path, self._output.sources)
                    except InvalidInput as failure:
                        run.blocking.extend(failure.diagnostics)
                    else:
                        step(document)
            if key.model is not None:
                self._use_model(run, key.model)
        return self._runs[key]

    def _use_model(self, run: CheckRun, path: str) -> None:
        """Hold plans against the model of a configuration; what is wrong with that is a finding too."""
        from hpplan.cli.model_inputs import read_model_config
        from hpplan.models.describe import facts_of

        self._files.add(os.path.realpath(path))
        try:
            if path not in self._models:
                self._models[path] = facts_of(read_model_config(self._output, path, "--model"))
            run.model = self._models[path]
        except InvalidInput as failure:
            run.blocking.extend(failure.diagnostics)

    def findings(self, whole: Configuration | None) -> list[Diagnostic]:
        """Return what was found in all documents; `whole` is the configuration that named them."""
        try:
            self._output.configurations.check(self._plans, whole)
        except InvalidInput as failure:
            self._unread += failure.diagnostics
        found = self._unread
        runs = list(self._runs.items())
        for key, run in runs:
            run.finish(other for _, other in runs if other is not run)
            selected, ignored = _codes(key.select), _codes(key.ignore)
            own = [
                *run.blocking,
                *(
                    item
                    for item in run.findings
                    if (not key.select or item.code in selected) and item.code not in ignored
                ),
            ]
            found += as_errors(own) if key.strict else own
        return list(dict.fromkeys(found))


def _there(path: str | None) -> str | None:
    return path if path is not None and os.path.exists(path) else None  # noqa: PTH110 - pathlib takes longer to import


def _codes(texts: tuple[str, ...]) -> frozenset[object]:
    return frozenset(code for text in texts for code in codes_called(text))
