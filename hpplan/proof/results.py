"""What a proof found, as plain data; past this file, nobody sees torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hpplan.diagnostics import Diagnostic
from hpplan.plan.folding import fold
from hpplan.plan.fqn import ancestors
from hpplan.proof.codes import BOUNDARY_DIFFERS, MODEL_DIFFERS
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import FLAG, TEXT, TEXTS, Field, count, list_of, literal, or_null
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hpplan.plan.model import Plan

Status = Literal["proven", "differs", "assumed"]
STATUSES: tuple[Status, ...] = ("proven", "differs", "assumed")


class Remedy(NamedTuple):
    """A field of an entry that would be right otherwise."""

    path: tuple[str, ...]
    """Below the entry: field, tensor, axis."""
    was: str
    right: str

    def __str__(self) -> str:
        """Spell it the way messages do."""
        return f"`{'.'.join(self.path)}` {self.right} would be right, not {self.was}"


class Outcome(NamedTuple):
    """What came of running a module as its entry says."""

    why: str = ""
    """What is wrong; empty where all of it equals the whole."""
    difference: float | None = None
    """The largest, against the largest number beside it; None where forward did not get through."""

    @property
    def right(self) -> bool:
        """Whether outputs and gradients are those of the whole."""
        return not self.why


class UnitResult(NamedTuple):
    """What is known of one module; names are the plan's."""

    fqn: str
    class_name: str
    outcome: Outcome
    remedies: tuple[Remedy, ...] = ()
    assumed: str = ""
    """Why it ran whole; of one that ran as the plan says, what of it did not."""
    ran: bool = True
    """Whether it ran as the plan says."""
    whole: bool = False
    """Whether it did so but for an axis, on which it ran on all of the sequence."""

    @property
    def status(self) -> Status:
        """What to say of it in a word."""
        if not self.outcome.right:
            return "differs"
        return "proven" if self.ran and not self.whole else "assumed"


class ModelResult(NamedTuple):
    """What came of running all of the model."""

    why: str
    """Why it is not the whole model's; empty where it is."""
    logits: float | None
    """The largest difference, against the largest logit."""
    gradients: tuple[tuple[str, float], ...] = ()
    """Parameters whose gradient is wrong, with a sum or without, and by how much."""
    sums: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Parameters whose gradient is right after a sum, and over which axes."""


def _blames_another(unit: UnitResult, differ: list[UnitResult], ways: list[UnitResult]) -> bool:
    """Whether what is wrong with a module is what is wrong with one around it or below it."""
    if unit.remedies:
        return any(one.fqn.startswith(f"{unit.fqn}.") for one in ways)
    around = any(unit.fqn.startswith(f"{one.fqn}.") for one in ways)
    return around or any(one.fqn.startswith(f"{unit.fqn}.") for one in differ)


@dataclass(frozen=True)
class Proof:
    """All that was found."""

    units: tuple[UnitResult, ...]
    model: ModelResult
    alike: Mapping[str, int]
    """FQN of a layer to how many more of the plan are as it is."""
    model_class: str
    mesh: str
    """The axes on which it ran."""
    uneven: tuple[Diagnostic, ...] = ()
    """Sizes of the real model that the mesh does not divide."""

    @property
    def proven(self) -> bool:
        """Whether nothing differs."""
        return not (self.wrong or self.model.why or self.uneven)

    @property
    def wrong(self) -> list[UnitResult]:
        """The modules to blame, in the order in which they run: of those within each other, one.

        That is the innermost with a way out, or the innermost where there is none.
        """
        differ = [unit for unit in self.units if unit.status == "differs"]
        ways = [unit for unit in differ if unit.remedies]
        return [unit for unit in differ if not _blames_another(unit, differ, ways)]

    def times(self, unit: UnitResult) -> int:
        """Return for how many modules of the plan a result stands."""
        return 1 + next((self.alike[one] for one in (unit.fqn, *ancestors(unit.fqn)) if one in self.alike), 0)

    def classes(self) -> dict[str, dict[Status, int]]:
        """Return how many modules of each class are proven, differ, or are assumed."""
        found: dict[str, dict[Status, int]] = {}
        for unit in self.units:
            found.setdefault(unit.class_name, dict.fromkeys(STATUSES, 0))[unit.status] += self.times(unit)
        return found

    def sums(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """Return axes and the parameters whose gradients are to be summed over them, folded over layers."""
        by_axes: dict[tuple[str, ...], list[str]] = {}
        for parameter, axes in self.model.sums:
            by_axes.setdefault(axes, []).append(parameter)
        return [(axes, fold(parameters)) for axes, parameters in sorted(by_axes.items())]

    def findings(self, plan: Plan) -> Iterator[Diagnostic]:
        """Yield what differs, at its place in the plan, and what the mesh does not divide."""
        yield from self.uneven
        for unit in self.wrong:
            keys = unit.remedies[0].path if unit.remedies else ()
            more = self.times(unit) - 1
            others = f" and {plural(more, 'module')} like it are" if more else " is"
            yield Diagnostic(
                BOUNDARY_DIFFERS,
                f"{unit.fqn}{others} not what the whole model has there: {unit.outcome.why}",
                plan.place.at("param_plan", unit.fqn, *keys),
                hint=" and ".join(map(str, unit.remedies)) or "no change of one field makes it right",
            )
        if self.model.why and not self.uneven and not self.wrong:
            yield Diagnostic(
                MODEL_DIFFERS,
                f"each boundary is right by itself, and all of the model is not: {self.model.why}",
                plan.place.at("param_plan"),
                hint="look at what one module hands on and the next one takes",
            )


_UNIT = Answer(
    None,
    Field("fqn", TEXT, "The module, by the plan's name."),
    Field("class", TEXT, "Its class in the model.", get=lambda unit: unit.class_name),
    Field("status", literal(STATUSES), "Whether it equals the whole model's, differs, or was run whole."),
    Field("times", count(1), "How many modules of the plan it stands for, itself included."),
    Field(
        "difference",
        or_null(AMOUNT),
        "The largest of outputs and gradients, against the largest number beside it.",
        get=lambda unit: unit.outcome.difference,
    ),
    Field("why", TEXT, "What differs.", get=lambda unit: unit.outcome.why or None),
    Field(
        "assumed", TEXT, "What did not run as the plan says, and why.", get=lambda unit: unit.assumed or None
    ),
    Field(
        "remedies",
        list_of(
            Answer(
                None,
                Field("path", TEXTS, "Below the entry: field, tensor, axis."),
                Field("was", TEXT, "What the plan says."),
                Field("right", TEXT, "What makes it equal the whole, found by trying."),
            )
        ),
        "What would be right; empty where it is, and where no change of one field helps.",
        get=lambda unit: [remedy._asdict() | {"path": list(remedy.path)} for remedy in unit.remedies],
    ),
    optional=("why", "assumed"),
)
_CLASS = Answer(
    None,
    Field("class", TEXT, "The class."),
    *(Field(status, count(0), f"Modules of the plan that are {status}.") for status in STATUSES),
)
PROOF = Answer(
    None,
    Field("hpplan_proof", literal([1]), "Version of the format."),
    Field("plan", TEXT, "The plan, as it was named."),
    Field("model", TEXT, "The model's class."),
    Field("mesh", TEXT, "The axes on which it ran."),
    Field("proven", FLAG, "Whether nothing differs."),
    Field("uneven", TEXTS, "What the mesh does not divide of the real model."),
    Field("logits", or_null(AMOUNT), "The largest difference of a logit, against the largest one."),
    Field("why", TEXT, "Why all of the model is not what the whole is."),
    Field("classes", list_of(_CLASS), "Modules by class."),
    Field("boundaries", list_of(_UNIT), "Each module that stands for those of its kind."),
    Field(
        "sums",
        list_of(
            Answer(
                None,
                Field("axes", TEXTS, "Axes of the mesh."),
                Field("parameters", TEXTS, "Parameters, folded over layers."),
            )
        ),
        "Gradients that are right once they are summed over these axes, which the runtime must do.",
    ),
    Field(
        "gradients",
        list_of(
            Answer(
                None,
                Field("parameter", TEXT, "The parameter."),
                Field("difference", or_null(AMOUNT), "Against the largest number of its gradient."),
            )
        ),
        "Gradients that no sum makes right.",
    ),
    optional=("why",),
)
"""What `hpplan prove --format json` answers."""


def proof_to_data(proof: Proof, plan: str) -> dict[str, Any]:
    """Return a proof as a document; `plan` is what the plan was called."""
    return PROOF.of(
        hpplan_proof=1,
        plan=plan,
        model=proof.model_class,
        mesh=proof.mesh,
        proven=proof.proven,
        uneven=[finding.message for finding in proof.uneven],
        logits=proof.model.logits,
        why=proof.model.why or None,
        classes=[{"class": name, **counted} for name, counted in proof.classes().items()],
        boundaries=[_UNIT.of(unit, times=proof.times(unit)) for unit in proof.units],
        sums=[{"axes": list(axes), "parameters": names} for axes, names in proof.sums()],
        gradients=[
            {"parameter": name, "difference": None if off == float("inf") else off}
            for name, off in proof.model.gradients
        ],
    )
