"""Plan compiler and validator for distributed training, as a library; no torch.

    >>> import hpplan
    >>> item = {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10}
    >>> workload = hpplan.load_workload({"sequence": {"length": 32, "cp_layout": "zigzag"}, "items": [item]})
    >>> table = hpplan.plan_routes(hpplan.parse_mesh("cp=2,tp=2,sp"), workload)
    >>> table.rank_route(2).receives  # (source, item_id, row_start, row_stop)
    ((0, 0, 0, 10),)

What is public stands in `__all__` here and in `hpplan.exchange`, which runs
the routes; every other name may change. Nothing is imported before it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.late import exporter
from hpplan.version import __version__

if TYPE_CHECKING:
    from hpplan.api.documents import document_text, read_document, report, write_document
    from hpplan.api.plans import (
        check,
        compare,
        freeze,
        load_model,
        load_plan,
        load_rules,
        load_strategies,
        normalize,
        prove,
    )
    from hpplan.api.routes import (
        load_links,
        load_micro_batches,
        load_routes,
        load_workload,
        mesh_of_plan,
        parse_mesh,
        preview,
    )
    from hpplan.comparison.changes import Differences
    from hpplan.diagnostics import Code, Diagnostic, Place
    from hpplan.documents.reader import Document
    from hpplan.documents.source import Sources
    from hpplan.errors import HpplanError, InvalidInput, UnusableRequest
    from hpplan.models.facts import ModelFacts
    from hpplan.models.freeze import Frozen
    from hpplan.passes.change import Change
    from hpplan.passes.pipeline import Normalized
    from hpplan.plan.model import Plan
    from hpplan.plan.rules import Rule, RuleSet
    from hpplan.plan.strategies import Strategy, StrategyTable
    from hpplan.proof.results import Proof
    from hpplan.routing.comparison import Comparison, Links, compare_ways
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.meshes import Meshes, compare_meshes
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import ParentRoutes, RoutingTable, plan_rank, plan_routes
    from hpplan.routing.statistics import Statistics, statistics
    from hpplan.routing.traffic import Link, Traffic
    from hpplan.routing.transfers import Transfer
    from hpplan.workload.workload import Batch, Item, Workload

__all__ = [
    "Batch",
    "Change",
    "Code",
    "Comparison",
    "Diagnostic",
    "Differences",
    "Document",
    "Frozen",
    "HpplanError",
    "InvalidInput",
    "Item",
    "Link",
    "Links",
    "Mesh",
    "Meshes",
    "ModelFacts",
    "Normalized",
    "ParentRoutes",
    "Place",
    "Plan",
    "Proof",
    "RankRoute",
    "RoutingTable",
    "Rule",
    "RuleSet",
    "Sources",
    "Statistics",
    "Strategy",
    "StrategyTable",
    "Traffic",
    "Transfer",
    "UnusableRequest",
    "Workload",
    "__version__",
    "check",
    "compare",
    "compare_meshes",
    "compare_ways",
    "document_text",
    "freeze",
    "load_links",
    "load_micro_batches",
    "load_model",
    "load_plan",
    "load_routes",
    "load_rules",
    "load_strategies",
    "load_workload",
    "mesh_of_plan",
    "normalize",
    "parse_mesh",
    "plan_rank",
    "plan_routes",
    "preview",
    "prove",
    "read_document",
    "report",
    "statistics",
    "write_document",
]

__getattr__ = exporter(
    __name__,
    {
        "hpplan.api.documents": ("document_text", "read_document", "report", "write_document"),
        "hpplan.api.plans": (
            "check",
            "compare",
            "freeze",
            "load_model",
            "load_plan",
            "load_rules",
            "load_strategies",
            "normalize",
            "prove",
        ),
        "hpplan.api.routes": (
            "load_micro_batches",
            "load_links",
            "load_routes",
            "load_workload",
            "mesh_of_plan",
            "parse_mesh",
            "preview",
        ),
        "hpplan.comparison.changes": ("Differences",),
        "hpplan.diagnostics": ("Code", "Diagnostic", "Place"),
        "hpplan.documents.reader": ("Document",),
        "hpplan.documents.source": ("Sources",),
        "hpplan.errors": ("HpplanError", "InvalidInput", "UnusableRequest"),
        "hpplan.models.facts": ("ModelFacts",),
        "hpplan.models.freeze": ("Frozen",),
        "hpplan.passes.change": ("Change",),
        "hpplan.passes.pipeline": ("Normalized",),
        "hpplan.plan.model": ("Plan",),
        "hpplan.plan.rules": ("Rule", "RuleSet"),
        "hpplan.plan.strategies": ("Strategy", "StrategyTable"),
        "hpplan.proof.results": ("Proof",),
        "hpplan.routing.comparison": ("Comparison", "Links", "compare_ways"),
        "hpplan.routing.mesh": ("Mesh",),
        "hpplan.routing.meshes": ("Meshes", "compare_meshes"),
        "hpplan.routing.rank_route": ("RankRoute",),
        "hpplan.routing.routes": ("ParentRoutes", "RoutingTable", "plan_rank", "plan_routes"),
        "hpplan.routing.statistics": ("Statistics", "statistics"),
        "hpplan.routing.traffic": ("Link", "Traffic"),
        "hpplan.routing.transfers": ("Transfer",),
        "hpplan.workload.workload": ("Batch", "Item", "Workload"),
    },
)


def __dir__() -> list[str]:
    """Name what is public, for whoever explores."""
    return __all__
