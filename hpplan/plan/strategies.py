"""Strategies: what an inline rule's target does, and where strategies come from."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.disk.descriptors import prints_aside
from hpplan.errors import InvalidInput
from hpplan.plan.codes import BROKEN_STRATEGY_PLUGIN, NO_RULES, STRATEGY_CLASH
from hpplan.plan.names import NAME, NAMES, SHAPE_CODES, sound_records
from hpplan.shapes.findings import Checker
from hpplan.shapes.shape import Field, Shape, list_of, values

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from hpplan.documents.reader import Document

MOE_EP_ROUTED = "moe_ep_routed"
CP_ATTENTION = "cp_attention"
KINDS = (MOE_EP_ROUTED, CP_ATTENTION)
"""What strategies do: a forward that routes tokens to experts, and a wrapper around attention."""

STRATEGY = Shape(
    "Strategy",
    Field("target", NAME, "Dotted name of the function that rules point at.", required=True),
    Field("kind", NAME, "What it does, such as moe_ep_routed.", required=True),
    Field("target_class", NAME, "The class whose forward it replaces."),
    Field(
        "strip_boundary_subpatterns",
        NAMES,
        "Sub-modules that its forward owns: fnmatch over the FQN below the module.",
        default=(),
    ),
    Field("model_types", NAMES, "Model types it serves; absent means any."),
)
STRATEGIES = Shape(
    "Strategies",
    Field(
        "strategies",
        list_of(STRATEGY),
        "Strategies that join the built-in ones and win over them.",
        required=True,
    ),
)
_check = Checker(STRATEGIES, SHAPE_CODES)


class Strategy(NamedTuple):
    """The class whose `forward` a target replaces, and the sub-modules that forward owns.

    `target_class` is None for strategies that replace no forward, such as
    `cp_attention`. `model_types` is None where any model type will do.
    """

    target: str
    kind: str
    target_class: str | None = None
    strip_boundary_subpatterns: tuple[str, ...] = ()
    model_types: tuple[str, ...] | None = None
    place: Place | None = None

    def serves(self, model_type: str | None) -> bool:
        """Whether the strategy may be used for a model type; an unknown one is no obstacle."""
        return model_type is None or self.model_types is None or model_type in self.model_types


BUILT_IN = (
    Strategy(
        target="hyper_parallel.models.qwen3_moe.adapter.distributed.expert_parallel.qwen3moe_ep_compute_fn",
        kind=MOE_EP_ROUTED,
        target_class="Qwen3MoeSparseMoeBlock",
    ),
    Strategy(
        target="hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn",
        kind=MOE_EP_ROUTED,
        target_class="DeepseekV3MoE",
        strip_boundary_subpatterns=("experts.*", "shared_experts"),
    ),
)

_GROUP = "hpplan.strategies"
_REFERENCE = re.compile(r"[\w.]+\s*(:\s*[\w.]+\s*)?(\[.*\]\s*)?")
"""What an entry point may point at: a module, and perhaps something in it."""

_ADAPTER_TARGET = re.compile(r"hyper_parallel\.models\.[^.]+\.adapter\..+")


class StrategyTable:
    """Strategies by exact target; later sources win over earlier ones."""

    def __init__(self, *sources: Iterable[Strategy]) -> None:
        """Join the sources."""
        self._by_target = {strategy.target: strategy for source in sources for strategy in source}

    def __iter__(self) -> Iterator[Strategy]:
        """Yield the strategies in force."""
        return iter(self._by_target.values())

    def known(self, target: str) -> Strategy | None:
        """Return the strategy with this target, whatever model types it serves."""
        return self._by_target.get(target)

    def resolve(self, target: str, model_type: str | None, *, inner_wrapper: bool = False) -> Strategy | None:
        """Return the strategy of a target for a model type, or None where there is none.

        An inner wrapper from a family's adapter needs no declaration: it is
        context-parallel attention.
        """
        declared = self._by_target.get(target)
        if declared is not None:
            return declared if declared.serves(model_type) else None
        if inner_wrapper and _ADAPTER_TARGET.fullmatch(target):
            return Strategy(target=target, kind=CP_ATTENTION)
        return None


def strategy_from(data: Mapping[str, Any], place: Place | None = None) -> Strategy:
    """Return the strategy that data of the shape `STRATEGY` declares."""
    return Strategy(**values(STRATEGY.fields, data), place=place)


def strategies_from(
    records: Iterable[tuple[int, dict[str, Any]]], place: Place, problems: list[Diagnostic]
) -> tuple[Strategy, ...]:
    """Return the strategies of one file; that it declares a target twice is a problem."""
    first: dict[str, Strategy] = {}
    for index, data in records:
        strategy = strategy_from(data, place.at(index))
        earlier = first.setdefault(strategy.target, strategy)
        if earlier is not strategy and earlier.place is not None:
            problems.append(
                Diagnostic(
                    STRATEGY_CLASH,
                    f"the strategy '{strategy.target}' is declared twice in this file",
                    place.at(index, "target"),
                    hint="remove one of the two, or give it another target",
                    related=(earlier.place.at("target").noted("first declared here"),),
                )
            )
    return tuple(first.values())


def load_strategies(document: Document) -> tuple[Strategy, ...]:
    """Return the strategies of a `--strategies` file; raise InvalidInput when it is none."""
    strategies, problems = read_strategies(document)
    if problems:
        raise InvalidInput(problems)
    return strategies


def read_strategies(document: Document) -> tuple[tuple[Strategy, ...], list[Diagnostic]]:
    """Return the strategies of a file that are in order, and what is wrong with it."""
    data, place = document.data, document.place
    if "strategies" not in data:
        hint = "name the list `strategies`"
        return (), [Diagnostic(NO_RULES, "this file has no `strategies`", place, hint)]
    problems = list(_check(data, place))
    records = sound_records(data, "strategies", problems, place)
    return strategies_from(records, place.at("strategies"), problems), problems


def installed_strategies() -> tuple[Strategy, ...]:
    """Return the strategies of installed packages (entry-point group `hpplan.strategies`).

    Raises InvalidInput where an entry point does not load, or where two of
    them, or one of them and a built-in strategy, share a target.
    """
    owners = {strategy.target: "hpplan" for strategy in BUILT_IN}
    strategies: list[Strategy] = []
    problems: list[Diagnostic] = []
    for name, owner, data in _installed(problems):
        place = Place(f"entry point {name}")
        records = data if isinstance(data, list | tuple) else [data]
        shape = list(_check({"strategies": list(records)}, place))
        if shape:
            problems += (
                Diagnostic(BROKEN_STRATEGY_PLUGIN, f"{problem.message} in {owner}", place)
                for problem in shape
            )
            continue
        for strategy in (strategy_from(record, place) for record in records):
            if strategy.target in owners:
                problems.append(
                    Diagnostic(
                        STRATEGY_CLASH,
                        f"the strategy '{strategy.target}' of {owner} "
                        f"is already declared by {owners[strategy.target]}",
                        place,
                        hint="give it another target, or uninstall one of the two packages",
                    )
                )
            owners.setdefault(strategy.target, owner)
            strategies.append(strategy)
    if problems:
        raise InvalidInput(problems)
    return tuple(strategies)


def _installed(problems: list[Diagnostic]) -> Iterator[tuple[str, str, Any]]:
    """Yield name, owner and content of each entry point, in the order of names."""
    for name, package, point in sorted(_entry_points(problems), key=lambda entry: entry[:2]):
        content, failure = _load(point)
        owner = f"the entry point '{name}' of {package}"
        if failure is None:
            yield name, owner, content
        else:
            problems.append(
                Diagnostic(
                    BROKEN_STRATEGY_PLUGIN,
                    f"{owner} ({point.value}) does not load: {failure}",
                    Place(f"entry point {name}"),
                    hint="correct or uninstall the package that declares it",
                )
            )


def _entry_points(problems: list[Diagnostic]) -> Iterator[tuple[str, str, EntryPoint]]:
    """Yield name, package and entry point of all that packages declare."""
    seen: set[str] = set()
    for folder in _declaring_folders():
        # It costs a quarter of the whole start of `hpplan normalize`, and most environments declare none.
        from importlib.metadata import Distribution

        package = os.path.basename(folder).partition("-")[0]  # noqa: PTH119 - pathlib takes longer to import
        if package.lower() in seen:
            continue
        # Of two versions of a package the first counts, as it does for imports.
        seen.add(package.lower())
        try:
            distribution = Distribution.at(folder)
            points = [point for point in distribution.entry_points if point.group == _GROUP]
            package = distribution.metadata["Name"] or package
        except Exception as error:  # noqa: BLE001 - a malformed file raises what it likes
            problems.append(
                Diagnostic(
                    BROKEN_STRATEGY_PLUGIN,
                    f"the entry points of {package} cannot be read: {_told(error)}",
                    Place(f"entry points of {package}"),
                    hint=f"correct {folder}, or uninstall the package",
                )
            )
        else:
            yield from ((point.name, package, point) for point in points)


def _load(point: EntryPoint) -> tuple[Any, str | None]:
    """Return the content of an entry point, or why it does not load."""
    if not _REFERENCE.fullmatch(point.value):
        return None, "that is no MODULE:NAME"
    try:
        with prints_aside():
            content = point.load()
            return content() if callable(content) else content, None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything while it is imported
        return None, _told(error)


def _told(error: BaseException) -> str:
    """Return what an error says; one of foreign code may fail even at that."""
    with suppress(Exception):
        return str(error) or type(error).__name__
    return type(error).__name__


def _declaring_folders() -> Iterator[str]:
    """Yield the folders of installed packages whose entry points mention our group."""
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208 - pathlib takes seven times as long
        except OSError:
            continue
        for name in names:
            if name.endswith("-info"):
                info = os.path.join(folder, name)  # noqa: PTH118 - the same
                points = os.path.join(info, "entry_points.txt")  # noqa: PTH118 - the same
                with suppress(OSError), open(points, "rb") as file:  # noqa: PTH123 - the same
                    if _GROUP.encode() in file.read():
                        yield info
