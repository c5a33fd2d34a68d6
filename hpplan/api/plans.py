"""Plans: load one and its rules, freeze one, normalize, check, compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hpplan.api.documents import read_document
from hpplan.diagnostics import Diagnostic
from hpplan.documents.source import Sources
from hpplan.passes.pipeline import Normalized, Pass
from hpplan.plan.model import Plan
from hpplan.plan.rules import RuleSet
from hpplan.plan.strategies import StrategyTable

if TYPE_CHECKING:
    from hpplan.api.documents import Readable
    from hpplan.comparison.changes import Differences
    from hpplan.models.facts import ModelFacts
    from hpplan.models.freeze import Frozen
    from hpplan.proof.results import Proof
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RoutingTable


def load_plan(given: Readable, sources: Sources | None = None) -> Plan:
    """Return the frozen plan at a path or in plain data.

    Raises InvalidInput with everything in which it has not the shape of one,
    and UnusableRequest for a document of another kind.
    """
    from hpplan.plan import model
    from hpplan.validation.kinds import take

    document = read_document(given, sources, name="plan")
    take(document, "hpplan.load_plan", "plan")
    return model.load_plan(document)


def load_rules(given: Readable, sources: Sources | None = None) -> RuleSet:
    """Return the inline rules of a rules file or of a HyperParallel training YAML, or those in plain data.

    Raises InvalidInput with everything that is wrong with them.
    """
    from hpplan.plan import rules

    return rules.load_rules(read_document(given, sources, name="rules"))


def load_strategies(
    given: Readable | None = None, rules: RuleSet | None = None, sources: Sources | None = None
) -> StrategyTable:
    """Return the strategies that are known, by target.

    They are those built in, of installed packages, of `rules` and of the
    strategies in `given`; of two with one target the later wins. Raises
    InvalidInput with what is wrong with any.
    """
    from hpplan.errors import Failures
    from hpplan.plan import strategies
    from hpplan.plan.strategies import BUILT_IN, Strategy, StrategyTable, installed_strategies

    failures = Failures()
    declared: tuple[Strategy, ...] = ()
    with failures:
        if given is not None:
            declared = strategies.load_strategies(read_document(given, sources, name="strategies"))
    with failures:
        installed = installed_strategies()
    failures.settle()
    return StrategyTable(BUILT_IN, installed, () if rules is None else rules.strategies, declared)


def normalize(
    plan: Plan,
    rules: RuleSet | None = None,
    strategies: StrategyTable | None = None,
    *,
    model_type: str | None = None,
    passes: Sequence[str] | None = None,
    record: bool = True,
    after: Callable[[Pass, Plan], None] | None = None,
) -> Normalized:
    """Return the plan after the passes, every change with its cause, and warnings about the rules.

    `rules` None stands for those that the plan carries, `strategies` None for
    `load_strategies(rules=rules)`, `passes` None for all; they run in their
    usual order. `model_type` wins over that of the rules and of the plan.
    Without `record` the plan says nothing of what was done. `after` is called
    with each pass and the plan it made. The plan that was given stays as it is.

    Raises InvalidInput where the plan's own rules are none, and
    UnusableRequest for a pass that there is not.
    """
    from hpplan.passes import pipeline
    from hpplan.passes.record import with_record, without_record
    from hpplan.plan.rules import rules_of_plan

    rules = rules_of_plan(plan) if rules is None else rules
    normalized = pipeline.normalize(
        plan,
        rules,
        load_strategies(rules=rules) if strategies is None else strategies,
        model_type=model_type,
        passes=pipeline.passes_named(passes),
        after=after,
    )
    after_passes = with_record(plan, normalized) if record else without_record(normalized.plan)
    return normalized._replace(plan=after_passes)


def check(
    *given: Readable | Plan,
    rules: Readable | None = None,
    strategies: Readable | None = None,
    model_type: str | None = None,
    mesh: Mesh | None = None,
    model: ModelFacts | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    sources: Sources | None = None,
) -> list[Diagnostic]:
    """Return everything that is wrong with documents: plans, rules, strategies, workloads, routing tables.

    They are checked together: a routing table against the plans among them.
    Plans are checked with `rules`, or with their own, for `mesh` and against
    `model` where these are given. `select` and `ignore` are codes: ids,
    beginnings of ids or names; what keeps a document from being read further
    is in any case among the findings. Raises UnusableRequest for what cannot
    be read or is of a kind that nothing checks, and for a code that there is not.
    """
    from hpplan.errors import InvalidInput
    from hpplan.plan.model import Plan
    from hpplan.validation.catalog import codes_of
    from hpplan.validation.run import CheckRun

    selected = codes_of("select", select) if select else None
    ignored = codes_of("ignore", ignore)
    run = CheckRun(model_type, mesh, model)
    for use, source in (
        (run.use_rules, rules),
        (run.use_strategies, strategies),
        *((run.check, source.data if isinstance(source, Plan) else source) for source in given),
    ):
        if source is None:
            continue
        try:
            document = read_document(source, sources)
        except InvalidInput as failure:
            run.blocking.extend(failure.diagnostics)
        else:
            use(document)
    run.finish()
    return run.chosen(selected, ignored)


def load_model(given: Readable, sources: Sources | None = None) -> ModelFacts:
    """Return the facts of a Hugging Face model, from its config.json, the folder that has it, or its data.

    The model is built on the meta device, without weights, network or code of
    its own. Needs the extra `models`. Raises InvalidInput for a configuration
    of no model that transformers can build, and UnusableRequest without
    transformers.
    """
    from hpplan.models.config import load_config, path_of
    from hpplan.models.describe import facts_of
    from hpplan.validation.kinds import take

    given = path_of(given) if isinstance(given, str) else given
    document = read_document(given, sources, name="config.json")
    take(document, "hpplan.load_model", "model-config")
    return facts_of(load_config(document))


def freeze(model: ModelFacts, mesh: Mesh, *, gather_logits: bool = False) -> Frozen:
    """Return the data of a model's frozen plan on a mesh, and what of the model is not in it.

    Placements are those of transformers' own tensor- and expert-parallel
    plans. With `gather_logits` logits are whole, else split by vocabulary.
    Raises InvalidInput where transformers has no plan for the mesh, or the
    mesh cuts a parameter into unequal parts.
    """
    from hpplan.checks.uneven_dimension import findings
    from hpplan.diagnostics import Place
    from hpplan.errors import InvalidInput
    from hpplan.models import freeze as models
    from hpplan.plan.model import Plan

    frozen = models.freeze(model, mesh, model.place, gather_logits=gather_logits)
    uneven = list(findings(model, Plan(frozen.data, Place("plan")), {**mesh.axes, "ep": mesh.ep}))
    if uneven:
        raise InvalidInput(uneven)
    return frozen


def prove(
    plan: Plan,
    model: Readable,
    mesh: Mesh | None = None,
    rules: RuleSet | None = None,
    strategies: StrategyTable | None = None,
    *,
    sources: Sources | None = None,
) -> Proof:
    """Return what running a plan shows, against the whole of a small instance of its model.

    `model` is a config.json, the folder that has it, or its data; `mesh` None stands for the plan's own.
    As many processes as its cp and tp make run on this machine, on gloo, in float64, and end with it.
    `rules` None stands for those that the plan carries: modules whose forward is a strategy's run whole.
    Needs the extra `models`. Raises InvalidInput for a configuration of no model that transformers can
    build and for a plan that is for another mesh, UnusableRequest for a mesh that cuts nothing and
    without transformers, and ExecutionBroken where a process is lost.
    """
    from dataclasses import replace
    from functools import partial

    from hpplan.api.routes import mesh_of_plan
    from hpplan.checks.uneven_dimension import findings
    from hpplan.errors import InvalidInput, UnusableRequest
    from hpplan.models.config import load_config, path_of
    from hpplan.proof.launch import prove_together
    from hpplan.proof.owned import owned_modules
    from hpplan.proof.small import Small
    from hpplan.routing.agreeing_plan import check_mesh
    from hpplan.validation.kinds import take

    if mesh is None:
        if "parallel_dims" not in plan.data:
            raise UnusableRequest(
                f"{plan.place.document} has no `parallel_dims`; give a mesh, such as tp=2,sp"
            )
        mesh = mesh_of_plan(plan)
    else:
        contradictions = list(check_mesh(plan, mesh))
        if contradictions:
            raise InvalidInput(contradictions)
    sizes = {axis: size for axis, size in mesh.axes.items() if axis in {"cp", "tp"} and size > 1}
    if not sizes:
        raise UnusableRequest(f"the mesh {mesh} has neither cp nor tp, so the plan cuts nothing on it")
    given = path_of(model) if isinstance(model, str) else model
    document = read_document(given, sources, name="config.json")
    take(document, "hpplan prove --model", "model-config")
    facts = load_model(document)
    classes = {fqn: module.class_name for fqn, module in facts.modules.items()}
    known = load_strategies(rules=rules) if strategies is None else strategies
    owned = owned_modules(plan, rules, known, classes, ep=mesh.ep > 1)
    small = Small(load_config(document), plan, mesh.tp)
    from hpplan.proof.on_rank import prove as prove_on_rank

    own = {named: fqn for fqn, named in small.names.items()}
    entries = {own[fqn]: entry for fqn, entry in plan.param_plan.items() if fqn in own}
    whole = {own[fqn]: why for fqn, why in owned.items() if fqn in own}
    proof = prove_together(sizes, partial(prove_on_rank, small, entries, whole), sp=mesh.sp)
    return replace(proof, uneven=tuple(findings(facts, plan, {**mesh.axes, "ep": mesh.ep})))


def compare(before: Plan | RoutingTable, after: Plan | RoutingTable) -> Differences:
    """Return what two plans, or two routing tables, mean differently, folded over layers.

    Neither the order of keys nor the way a thing is spelled is a difference.
    Raises UnusableRequest for one of each.
    """
    from hpplan.comparison.plans import compare_plans
    from hpplan.comparison.routes import compare_routes
    from hpplan.errors import UnusableRequest
    from hpplan.plan.model import Plan

    if isinstance(before, Plan) and isinstance(after, Plan):
        return compare_plans(before, after)
    if isinstance(before, Plan) or isinstance(after, Plan):
        raise UnusableRequest("a plan and a routing table cannot be compared; give two of one kind")
    return compare_routes(before, after)
