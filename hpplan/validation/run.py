"""Checking documents of any kind: everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hpplan.checks import foreign_routes, not_normalized
from hpplan.checks.feature_exchange import check_workload
from hpplan.checks.not_normalized import NOT_NORMALIZED
from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.collector import collector_paused
from hpplan.documents.disk.streams import STDIN_NAME, typed
from hpplan.documents.reader import Document
from hpplan.errors import InvalidInput
from hpplan.inspection.subject import Subject
from hpplan.models.facts import ModelFacts
from hpplan.passes.record import content_sha256
from hpplan.passes.resolution import resolve_rules
from hpplan.plan.codes import UNRESOLVED_TARGET
from hpplan.plan.model import Plan, check_plan
from hpplan.plan.rules import (
    RULES_OF_FILE,
    RULES_OF_PLAN,
    RuleSet,
    model_type_for,
    read_rules,
    read_rules_of_plan,
    rules_of_plan,
)
from hpplan.plan.strategies import BUILT_IN, Strategy, StrategyTable, installed_strategies, read_strategies
from hpplan.routing.cluster import check_links
from hpplan.routing.mesh import Mesh
from hpplan.routing.routes import RoutingTable
from hpplan.routing.routes_document import load_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.traffic_warnings import check_traffic
from hpplan.validation.kinds import take
from hpplan.validation.partial import PartialPlan, salvage
from hpplan.validation.registry import CHECKS, RULES_CHECKS, SHAPE_CHECKS

CHECKED = ("plan", "rules", "strategies", "workload", "routes", "links")
"""The kinds of documents that are checked, each by a method of a run."""


@dataclass
class CheckRun:
    """One run over some documents, with what they are checked against.

    `blocking` are findings that kept a document from being read further, so
    that what else is wrong with it is not known; `findings` are all others.
    """

    model_type: str | None = None
    mesh: Mesh | None = None
    model: ModelFacts | None = None
    """The model that plans are held against, if there is one."""
    blocking: list[Diagnostic] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)
    _rules: RuleSet | None = None
    _declared: tuple[Strategy, ...] = ()
    _table: StrategyTable | None = None
    _plans: list[Plan] = field(default_factory=list)
    _routes: list[tuple[RoutingTable, Place]] = field(default_factory=list)
    _broken: set[str] = field(default_factory=set)
    _unknown_mesh: bool = False
    _options: tuple[str, ...] = ()
    _normalized: dict[str, str] = field(default_factory=dict)
    """What plans that are not normalized would become: name to sha256."""

    def use_rules(self, document: Document) -> None:
        """Check plans against the rules in a document instead of their own."""
        self._options += ("--rules", typed(document.source.name))
        self._check_text_of_rules(document)
        self._rules, problems = read_rules(document)
        self._broken |= self._parts(problems)

    def use_strategies(self, document: Document) -> None:
        """Let the strategies in a document join the others, and win."""
        self._options += ("--strategies", typed(document.source.name))
        self._check_text_of_rules(document)
        self._declared, problems = read_strategies(document)
        if self._parts(problems):
            self._broken.add("strategies")

    def _parts(self, problems: list[Diagnostic]) -> set[str]:
        """Report what keeps rules from being read; return what of them is broken."""
        self.blocking.extend(problems)
        fields = {str(problem.place.path[0]) if problem.place.path else "rules" for problem in problems}
        return {"rules" if name in RULES_OF_FILE else name for name in fields}

    def check(self, document: Document) -> None:
        """Check one document by itself, whatever its kind is.

        Raises UnusableRequest for an answer of hpplan, which nothing reads back.
        """
        with collector_paused():
            getattr(self, f"_check_{take(document, 'hpplan validate', *CHECKED)}")(document)

    def finish(self, others: Iterable[CheckRun] = ()) -> None:
        """Check the documents against each other, and against those of other runs, after the last one."""
        runs = [self, *others]
        plans = [(plan, run.mesh) for run in runs for plan in run._plans]  # noqa: SLF001 - of this class
        # A plan whose mesh is not known may be the one that a table belongs to.
        unknown = any(run._unknown_mesh for run in runs)  # noqa: SLF001 - of this class
        for table, place in () if unknown else self._routes:
            self.findings.extend(foreign_routes.check(table, place, plans))
        there = {content_sha256(plan) for plan, _ in plans} if self._normalized else set()
        self.findings = [
            finding
            for finding in self.findings
            if finding.code is not NOT_NORMALIZED or self._normalized[finding.place.document] not in there
        ]
        # A finding in a rules file that several plans share turns up once for each of them.
        self.blocking = list(dict.fromkeys(self.blocking))
        self.findings = list(dict.fromkeys(self.findings))

    def chosen(self, select: Collection[Code] | None, ignore: Collection[Code]) -> list[Diagnostic]:
        """Return what keeps documents from being read further, and the findings with chosen codes.

        `select` None stands for all.
        """
        wanted = (finding for finding in self.findings if finding.code not in ignore)
        return [*self.blocking, *(finding for finding in wanted if select is None or finding.code in select)]

    def subject(self, plan: Plan) -> Subject:
        """Return the subject of a plan's checks.

        Raises InvalidInput where the plan's own rules are no rules.
        """
        return self._subject(plan, rules_of_plan(plan) if self._rules is None else self._rules)

    def _subject(
        self, plan: Plan, rules: RuleSet, *, whole: bool = True, unsure: frozenset[str] = frozenset()
    ) -> Subject:
        name = plan.place.document
        return Subject(
            plan,
            rules,
            self._strategies(),
            self.model_type,
            self.mesh,
            None if name == STDIN_NAME else Path(name).parent,
            whole,
            unsure,
            self.model,
            self._options if self.model_type is None else (*self._options, "--model-type", self.model_type),
        )

    def _check_plan(self, document: Document) -> None:
        plan = Plan(document.data, document.place)
        problems = list(check_plan(document.data, document.place))
        self.blocking.extend(problems)
        whole = Subject(plan, RuleSet(()), StrategyTable())
        self.findings.extend(finding for check in SHAPE_CHECKS for finding in check.check(whole))
        partial = salvage(plan, problems) if problems else PartialPlan(plan)
        if partial is None:
            self._unknown_mesh = True
            return
        partial, rules = self._with_rules(partial)
        if partial.broken & {"parallel_dims", "feature_exchange"}:
            self._unknown_mesh = True
        else:
            self._plans.append(partial.plan)
        subject = self._subject(partial.plan, rules, whole=partial.whole, unsure=partial.unsure)
        if any(not_normalized.check(subject)):
            self._normalized[plan.place.document] = content_sha256(subject.normalized.plan)
        for check in CHECKS[len(SHAPE_CHECKS) :]:
            self.findings.extend(partial.findings(check, check.check(subject)))

    def _with_rules(self, partial: PartialPlan) -> tuple[PartialPlan, RuleSet]:
        """Return the rules for a plan, and the plan with what is broken in them."""
        broken = partial.broken | self._broken
        if self._rules is not None:
            return partial._replace(broken=broken), self._rules
        rules, problems = read_rules_of_plan(partial.plan)
        self.blocking.extend(problems)
        if problems or broken & set(RULES_OF_PLAN):
            broken |= {"rules"}
        records = frozenset(problem.place.path[:2] for problem in problems)
        return partial._replace(broken=broken, records=records), rules

    def _check_rules(self, document: Document) -> None:
        self._check_text_of_rules(document)
        rules, problems = read_rules(document)
        if (self._parts(problems) | self._broken) & {"strategies", "model_type"}:
            return
        nothing = Plan({"param_plan": {}, "boundary_classes": {}}, document.place)
        table = self._strategies(rules.strategies)
        model_type = model_type_for(nothing, rules, self.model_type)
        _, warnings = resolve_rules(nothing, rules.rules, table, model_type)
        self.findings.extend(warning for warning in warnings if warning.code is UNRESOLVED_TARGET)

    def _check_text_of_rules(self, document: Document) -> None:
        for check in RULES_CHECKS:
            self.findings.extend(check.check_rules(document.data, document.place))

    def _check_strategies(self, document: Document) -> None:
        self._check_text_of_rules(document)
        self._parts(read_strategies(document)[1])

    def _check_workload(self, document: Document) -> None:
        self.findings.extend(check_workload(document.data, document.place, self.mesh))

    def _check_links(self, document: Document) -> None:
        self.findings.extend(check_links(document.data, document.place))

    def _check_routes(self, document: Document) -> None:
        try:
            table = load_routes(document)
        except InvalidInput as failure:
            self.findings.extend(failure.diagnostics)
            return
        self.findings.extend((*table.warnings, *check_traffic(Traffic(table))))
        self._routes.append((table, document.place))

    def _strategies(self, of_document: Iterable[Strategy] = ()) -> StrategyTable:
        if self._table is None:
            try:
                installed = installed_strategies()
            except InvalidInput as failure:
                self.blocking.extend(failure.diagnostics)
                installed = ()
            of_rules = self._rules.strategies if self._rules is not None else ()
            self._table = StrategyTable(BUILT_IN, installed, of_rules, self._declared)
        return StrategyTable(self._table, of_document) if of_document else self._table
