"""What a document is, told by its fields, and what to say where another kind is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.documents.streams import STDIN_NAME
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hpplan.documents.reader import Document


class Kind(NamedTuple):
    """A kind of document: its name, what a document of it does or is, and its fields.

    Each of `marks` is fields that together give the kind away. `usages` are
    the commands that take such a document; the first is for whoever typed none
    of them.
    """

    name: str
    noun: str
    verb: str
    marks: tuple[tuple[str, ...], ...]
    usages: tuple[str, ...] = ()


KINDS = (
    Kind("routes", "a routing table", "is", (("hpplan_routes",),), ("hpplan route {name}",)),
    Kind("plan", "a plan", "is", (("param_plan",), ("boundary_classes",))),
    Kind(
        "rules",
        "rules",
        "holds",
        (("rules",), ("plan_overrides",)),
        (
            "hpplan normalize PLAN --rules {name}",
            "hpplan explain PLAN --rules {name}",
            "hpplan compile PLAN --rules {name} -o DIR",
        ),
    ),
    Kind(
        "strategies",
        "strategies",
        "holds",
        (("strategies",),),
        (
            "hpplan normalize PLAN --strategies {name}",
            "hpplan explain PLAN --strategies {name}",
            "hpplan compile PLAN --strategies {name} -o DIR",
        ),
    ),
    Kind("report", "an answer of `hpplan exec --report`", "is", (("hpplan_exec",),)),
    Kind("comparison", "an answer of `hpplan route --compare`", "is", (("ways", "take"),)),
    Kind("statistics", "an answer of `hpplan route` to many micro-batches", "is", (("policies", "cost"),)),
    Kind(
        "workload",
        "a workload",
        "is",
        (("sequence",), ("items",), ("replicas",), ("feature_width",), ("micro_batches",)),
        ("hpplan route {name} --mesh AXES", "hpplan compile PLAN --workload {name} -o DIR"),
    ),
    Kind("rank", "an answer of `hpplan route --rank`", "is", (("rank", "exchanges"), ("ranks",))),
)
"""All kinds; the first that fits counts."""


def kind_of_document(data: Mapping[str, Any], default: str = "plan") -> str:
    """Return the name of a document's kind: `default` where its fields do not tell."""
    return next(
        (kind.name for kind in KINDS if any(all(name in data for name in mark) for mark in kind.marks)),
        default,
    )


def what_it_is(document: Document) -> str:
    """Return words for a document and its kind: `batch.yaml is a workload`."""
    kind = _named(kind_of_document(document.data))
    return f"{document.source.name} {kind.verb} {kind.noun}"


def take(document: Document, taker: str, *wanted: str) -> str:
    """Return the name of a document's kind, one of those that a command or an option takes.

    The first of `wanted` is what a document is taken for where nothing says
    what it is. Raises UnusableRequest where it is of another kind, and says
    what takes that.
    """
    name = kind_of_document(document.data, wanted[0])
    if name in wanted:
        return name
    nouns = [_named(one).noun for one in wanted]
    *others, last = nouns
    said = f"{what_it_is(document)}, and `{taker}` takes {', '.join(others)}{' or ' * bool(others)}{last}."
    usages = _named(name).usages
    if usages:
        usage = next((one for one in usages if one.startswith(f"{taker} ")), usages[0])
        path = "-" if document.source.name == STDIN_NAME else document.source.name
        said += f" Type `{usage.format(name=path)}`."
    raise UnusableRequest(said)


def _named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)
