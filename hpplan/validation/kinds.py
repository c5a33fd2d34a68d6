"""What a document is, told by its fields, and what to say where another kind is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.documents.disk.streams import STDIN_NAME
from hpplan.errors import UnusableRequest
from hpplan.late import imported

if TYPE_CHECKING:
    from hpplan.documents.reader import Document
    from hpplan.documents.writer import KeyOrder


class DocumentKind(NamedTuple):
    """A kind of document: its name, what a document of it does or is, and its fields.

    Each of `marks` is fields that together give the kind away, the first of
    them one that few other files have. `usages` are
    the commands that take such a document; the first is for whoever typed none
    of them. Where fields of that name are in many a file of others, each of
    `records` is how fields begin that together give away what stands in them.

    `title` and `about` are for its JSON Schema, which `shape` makes: module
    and name of a shape, of a core schema, or of a function that returns one;
    empty where the kind has none. `unsaid` is what a JSON Schema cannot say.
    A command that takes `counts_as` takes the kind as well.
    """

    name: str
    noun: str
    verb: str
    marks: tuple[tuple[str, ...], ...] = ()
    usages: tuple[str, ...] = ()
    records: tuple[tuple[str, ...], ...] = ()
    title: str = ""
    about: str = ""
    unsaid: str = ""
    shape: str = ""
    counts_as: str = ""

    @property
    def what(self) -> str:
        """Verb and noun: `is a plan`."""
        return f"{self.verb} {self.noun}"

    @property
    def schema(self) -> Any:  # noqa: ANN401 - pydantic stays where shapes are made
        """The core schema of a kind that has a shape."""
        shape = imported(*self.shape.split(":"))
        shape = shape() if callable(shape) else shape
        return getattr(shape, "schema", shape)


_OF_WORKLOADS = (
    ("output_rows",),
    ("decoder_token_start",),
    ("length",),
    ("cp_layout",),
    ("sequence",),
    ("items",),
)

KINDS = (
    DocumentKind(
        "plan",
        "a plan",
        "is",
        (("param_plan",), ("boundary_classes",)),
        title="Frozen plan",
        about="A frozen sharding plan; HyperParallel stores it as codegen_meta.json.",
        unsaid="keys occur once; boundary_classes and param_plan name the same boundaries; the axes of "
        "placements are those of mesh_dim_names; boundaries of one class have one contract; "
        "feature_exchange is a workload",
        shape="hpplan.plan.rules:plan_with_rules",
    ),
    DocumentKind(
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
        title="Inline rules",
        about="A rules file, or a HyperParallel training YAML with plan_overrides.",
        unsaid="one of rules and plan_overrides is there; a rule says what it matches and has a target; "
        "low_precision goes with a replacement; targets resolve to strategies; patterns match something",
        shape="hpplan.plan.rules:RULES_FILE",
    ),
    DocumentKind(
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
        title="Strategies",
        about="Strategies that join the built-in ones and win over them.",
        unsaid="each target is declared once",
        shape="hpplan.plan.strategies:STRATEGIES",
    ),
    DocumentKind(
        "config",
        "a configuration",
        "is",
        title="Configuration",
        about="Which plans belong to which rules, and how they are looked at: hpplan.toml, or the table "
        "tool.hpplan of pyproject.toml.",
        unsaid="files are there, and among them a plan for each entry of files; a mesh is one; codes are "
        "known; no two plans are normalized into one file",
        shape="hpplan.plan.configuration:CONFIGURATION",
    ),
    DocumentKind(
        "routes",
        "a routing table",
        "is",
        (("hpplan_routes",),),
        ("hpplan route {name}",),
        title="Routing table",
        about="The transfers of every parent of a mesh, and what each rank needs to run them.",
        unsaid="the digest is that of the content; parents and transfers are those that mesh, workload and "
        "granularity give; what the schema of a workload does not say either",
        shape="hpplan.routing.routes_shape:ROUTES",
    ),
    DocumentKind(
        "links",
        "links",
        "holds",
        (("within_node",), ("between_nodes",)),
        ("hpplan route INPUT --links {name}", "hpplan exec INPUT --links {name}"),
        title="Links",
        about="What the ranks of a cluster are connected with, as `hpplan exec --calibrate` measures it.",
        unsaid="fields occur once; between_nodes is there where ranks are on several nodes",
        shape="hpplan.routing.cluster:LINKS",
    ),
    DocumentKind(
        "execution",
        "an answer of `hpplan exec --report`",
        "is",
        (("hpplan_exec",),),
        title="Execution",
        about="What ranks found and measured when they ran their routes: `hpplan exec --report`.",
        unsaid="amounts are those of the routing table with the same digest",
        shape="hpplan.job.execution_report:REPORT",
    ),
    DocumentKind(
        "comparison",
        "an answer of `hpplan route --compare`",
        "is",
        (("ways", "take"),),
        title="Comparison",
        about="The ways to move the same features side by side: `hpplan route --compare`.",
        unsaid="amounts are those that mesh and workload give",
        shape="hpplan.routing.comparison:COMPARISON",
    ),
    DocumentKind(
        "statistics",
        "an answer of `hpplan route` to many micro-batches",
        "is",
        (("policies", "cost"),),
        title="Statistics",
        about="Each assignment policy over many micro-batches: `hpplan route` on them.",
        unsaid="amounts are those that mesh and micro-batches give",
        shape="hpplan.routing.statistics:STATISTICS",
    ),
    DocumentKind(
        "meshes",
        "an answer of `hpplan route` on several meshes",
        "is",
        (("meshes", "policy"),),
        title="Meshes",
        about="The same micro-batches on several meshes: `hpplan route --mesh A --mesh B`.",
        unsaid="amounts are those that meshes and micro-batches give",
        shape="hpplan.routing.meshes:MESHES",
    ),
    DocumentKind(
        "differences",
        "an answer of `hpplan diff`",
        "is",
        (("equal", "before", "after"),),
        title="Differences",
        about="What two documents mean differently: `hpplan diff --format json`.",
        unsaid="equal is whether nothing is listed",
        shape="hpplan.reports.changes.diff:DIFFERENCES",
    ),
    DocumentKind(
        "findings",
        "an answer of `hpplan validate`",
        "is",
        title="Findings",
        about="What is wrong with documents: `hpplan validate --output-format json`.",
        unsaid="findings are sorted by file, line, column and code",
        shape="hpplan.reports.findings.json_list:FINDINGS",
    ),
    DocumentKind(
        "micro-batches",
        "workloads",
        "holds",
        (("micro_batches",),),
        records=_OF_WORKLOADS,
        title="Micro-batches",
        about="A workload for each of many micro-batches.",
        unsaid="what the schema of a workload does not say either",
        shape="hpplan.workload.micro_batches:MICRO_BATCHES",
        counts_as="workload",
    ),
    DocumentKind(
        "workload",
        "a workload",
        "is",
        (("sequence",), ("items",), ("replicas",), ("feature_width",)),
        ("hpplan route {name} --mesh AXES", "hpplan compile PLAN --workload {name} -o DIR"),
        _OF_WORKLOADS,
        title="Workload",
        about="The items of a batch and the sequence that their rows belong to.",
        unsaid="item ids occur once; an item has decoder_token_start or spans, and the rows of spans add up "
        "to output_rows; items stay within the length and do not overlap; documents add up to the length; "
        "buckets hold every item once; the length divides over the mesh",
        shape="hpplan.workload.shape:WORKLOAD",
    ),
    DocumentKind(
        "model-config",
        "a model's config.json",
        "is",
        (("architectures",), ("transformers_version", "model_type")),
        ("hpplan freeze {name}", "hpplan validate PLAN --model {name}"),
    ),
    DocumentKind(
        "proof",
        "an answer of `hpplan prove`",
        "is",
        (("hpplan_proof",),),
        title="Proof",
        about="What running a plan shows, against the whole model: `hpplan prove --format json`.",
        unsaid="a module that differs says why",
        shape="hpplan.proof.results:PROOF",
    ),
    DocumentKind(
        "rank",
        "an answer of `hpplan route --rank`",
        "is",
        (("exchanges", "rank"), ("ranks",)),
        records=(("exchanges",),),
        title="One rank's routes",
        about="What one rank, or each, sends, receives and hands over: `hpplan route --rank`.",
        unsaid="amounts are those of the routing table with the same digest",
        shape="hpplan.reports.route.rank:RANK",
    ),
)
"""All kinds; of those whose marks a document has the first counts."""

WITH_SCHEMA = tuple(kind for kind in KINDS if kind.shape)


def kind_of_document(data: Mapping[str, Any], default: str = "plan") -> str:
    """Return the name of a document's kind: `default` where its fields do not tell."""
    return next((kind.counts_as or kind.name for kind in _marked(data)), default)


def key_order_of(data: Mapping[str, Any]) -> KeyOrder:
    """Return the order of fields in documents of the kind that data is of."""
    from hpplan.shapes.shape import key_order

    kind = next(_marked(data), None)
    return {} if kind is None or not kind.shape else key_order(kind.schema)


def _marked(data: Mapping[str, Any]) -> Iterator[DocumentKind]:
    """Yield the kinds that a document's fields give away."""
    return (kind for kind in KINDS if any(all(name in data for name in mark) for mark in kind.marks))


_PLAN = ("param_plan", "boundary_classes")
_UNMISTAKABLE = (*_PLAN, "hpplan_routes", "hpplan_exec", "plan_overrides", "feature_width", "within_node")
"""Fields at the top of a document that nobody else's have."""

_UNMISTAKABLE_BELOW = (
    "local_compute_(?:fn|target)",
    "strip_boundary_subpatterns",
    "decoder_token_start",
    "output_rows",
)
"""And below that."""

_MARK = re.compile("|".join({name for kind in KINDS for name, *_ in kind.marks}).encode())


def own_kind(data: Mapping[str, Any]) -> str | None:
    """Return the name of the kind of a document that nobody named, or None where it may be of others."""
    kinds = list(_marked(data))
    ours = any(name in data for name in _UNMISTAKABLE) or any(_holds_records(data, kind) for kind in kinds)
    return kind_of_document(data) if kinds and ours else None


def _holds_records(data: Mapping[str, Any], kind: DocumentKind) -> bool:
    """Whether what stands in the fields of a kind has records of it, where it has to."""
    members = [data.get(name) for mark in kind.marks for name in mark]
    records = [record for member in members for record in (member if isinstance(member, list) else [member])]
    return not kind.records or any(
        all(any(name.startswith(start) for name in record) for start in starts)
        for record in records
        if isinstance(record, dict)
        for starts in kind.records
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
    nouns = [kind_named(kind).noun for kind in wanted]
    *others, last = nouns
    message = f"{what_it_is(document)}, and `{taker}` takes {', '.join(others)}{' or ' * bool(others)}{last}."
    usages = kind_named(name).usages
    if usages:
        usage = next((text for text in usages if text.startswith(f"{taker} ")), usages[0])
        path = "-" if document.source.name == STDIN_NAME else document.source.name
        message += f" Type `{usage.format(name=path)}`."
    raise UnusableRequest(message)


def kind_named(name: str) -> DocumentKind:
    """Return a kind by its name."""
    return next(kind for kind in KINDS if kind.name == name)
