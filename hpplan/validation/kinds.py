"""What a document is, told by its fields, and what to say where another kind is wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hpplan.documents.disk.streams import STDIN_NAME
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from hpplan.documents.reader import Document


class Kind(NamedTuple):
    """A kind of document: its name, what a document of it does or is, and its fields.

    Each of `marks` is fields that together give the kind away. `usages` are
    the commands that take such a document; the first is for whoever typed none
    of them. Where fields of that name are in many a file of others, each of
    `records` is how fields begin that together give away what stands in them.
    """

    name: str
    noun: str
    verb: str
    marks: tuple[tuple[str, ...], ...]
    usages: tuple[str, ...] = ()
    records: tuple[tuple[str, ...], ...] = ()

    @property
    def what(self) -> str:
        """Verb and noun: `is a plan`."""
        return f"{self.verb} {self.noun}"


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
        (
            *((prefix,) for prefix in ("local_compute", "inner_wrapper", "replace_")),
            ("match", "factory"),
            ("fqn", "factory"),
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
        (("strip_boundary_subpatterns",), ("target_class",), ("target", "kind")),
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
        (("output_rows",), ("decoder_token_start",), ("length",), ("cp_layout",), ("sequence",), ("items",)),
    ),
    Kind(
        "model-config",
        "a model's config.json",
        "is",
        (("architectures",), ("model_type", "transformers_version")),
        ("hpplan freeze {name}", "hpplan validate PLAN --model {name}"),
    ),
    Kind(
        "rank",
        "an answer of `hpplan route --rank`",
        "is",
        (("rank", "exchanges"), ("ranks",)),
        records=(("exchanges",),),
    ),
)
"""All kinds; the first that fits counts."""


def kind_of_document(data: Mapping[str, Any], default: str = "plan") -> str:
    """Return the name of a document's kind: `default` where its fields do not tell."""
    return next((kind.name for kind in _marked(data)), default)


def _marked(data: Mapping[str, Any]) -> Iterator[Kind]:
    """Yield the kinds that a document's fields give away."""
    return (kind for kind in KINDS if any(all(name in data for name in mark) for mark in kind.marks))


_PLAN = ("param_plan", "boundary_classes")
_UNMISTAKABLE = (*_PLAN, "hpplan_routes", "hpplan_exec", "plan_overrides", "feature_width")
"""Fields at the top of a document that nobody else's have."""

_UNMISTAKABLE_BELOW = (
    "local_compute_(?:fn|target)",
    "strip_boundary_subpatterns",
    "decoder_token_start",
    "output_rows",
)
"""And below that."""

_MARK = re.compile("|".join({name for kind in KINDS for mark in kind.marks for name in mark}).encode())


def own_kind(data: Mapping[str, Any]) -> str | None:
    """Return the name of the kind of a document that nobody named, or None where it may be of others."""
    kinds = list(_marked(data))
    ours = any(name in data for name in _UNMISTAKABLE) or any(_holds_records(data, kind) for kind in kinds)
    return kinds[0].name if kinds and ours else None


def _holds_records(data: Mapping[str, Any], kind: Kind) -> bool:
    """Whether what stands in the fields of a kind has records of it, where it has to."""
    members = [data.get(name) for mark in kind.marks for name in mark]
    records = [one for member in members for one in (member if isinstance(member, list) else [member])]
    return not kind.records or any(
        all(any(name.startswith(start) for name in record) for start in one)
        for record in records
        if isinstance(record, dict)
        for one in kind.records
    )


def may_be_own(raw: bytes) -> bool:
    """Whether a file has what a document of some kind cannot do without, so that it is worth reading."""
    return _MARK.search(raw.replace(b"\0", b"")) is not None


def is_meant_as_own(raw: bytes, wanted: tuple[str, ...]) -> bool:
    """Whether a file that does not parse has a field that only our documents of the wanted kinds have."""
    names = "|".join(_PLAN if wanted == ("plan",) else (*_UNMISTAKABLE, *_UNMISTAKABLE_BELOW))
    field = rf"(?m)(?:^|[{{,])[ \t-]*[\"']?(?:{names})[\"']?[ \t]*:"
    return re.search(field.encode(), raw.replace(b"\0", b"")) is not None


def what_it_is(document: Document) -> str:
    """Return words for a document and its kind: `batch.yaml is a workload`."""
    return f"{document.source.name} {kind_named(kind_of_document(document.data)).what}"


def take(document: Document, taker: str, *wanted: str) -> str:
    """Return the name of a document's kind, one of those that a command or an option takes.

    The first of `wanted` is what a document is taken for where nothing says
    what it is. Raises UnusableRequest where it is of another kind, and says
    what takes that.
    """
    name = kind_of_document(document.data, wanted[0])
    if name in wanted:
        return name
    nouns = [kind_named(one).noun for one in wanted]
    *others, last = nouns
    said = f"{what_it_is(document)}, and `{taker}` takes {', '.join(others)}{' or ' * bool(others)}{last}."
    usages = kind_named(name).usages
    if usages:
        usage = next((one for one in usages if one.startswith(f"{taker} ")), usages[0])
        path = "-" if document.source.name == STDIN_NAME else document.source.name
        said += f" Type `{usage.format(name=path)}`."
    raise UnusableRequest(said)


def kind_named(name: str) -> Kind:
    """Return a kind by its name."""
    return next(kind for kind in KINDS if kind.name == name)
