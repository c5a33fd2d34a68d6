"""Every code there is, by id, by name, and by the beginning of either."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from hpplan.checks import foreign_routes
from hpplan.diagnostics import Code
from hpplan.errors import UnusableArgument
from hpplan.nearest import nearest_name
from hpplan.validation.registry import CHECKS, RULES_CHECKS


def declared_codes() -> tuple[Code, ...]:
    """Return the codes of every layer, as they are declared."""
    from hpplan.documents.codes import CODES as OF_DOCUMENTS
    from hpplan.documents.configuration_codes import CODES as OF_CONFIGURATION
    from hpplan.job.codes import CODES as OF_EXECUTION
    from hpplan.models.codes import CODES as OF_MODELS
    from hpplan.plan.codes import CODES as OF_PLANS
    from hpplan.proof.codes import CODES as OF_PROOFS
    from hpplan.routing.cluster_codes import CODES as OF_LINKS
    from hpplan.routing.mesh_codes import CODES as OF_MESHES
    from hpplan.routing.route_codes import CODES as OF_ROUTES
    from hpplan.workload.codes import CODES as OF_WORKLOADS
    from hpplan.workload.sample_codes import CODES as OF_SAMPLES

    of_plans = (code for check in CHECKS for code in check.CODES)
    of_rules = (code for check in RULES_CHECKS for code in check.CODES)
    of_rooms = (
        *(*OF_DOCUMENTS, *OF_CONFIGURATION, *OF_PLANS, *OF_MODELS, *OF_MESHES, *OF_WORKLOADS, *OF_SAMPLES),
        *(*OF_ROUTES, *OF_LINKS, *OF_EXECUTION, *OF_PROOFS, *foreign_routes.CODES),
    )
    return tuple(dict.fromkeys((*of_rooms, *of_plans, *of_rules)))


@cache
def all_codes() -> tuple[Code, ...]:
    """Return every code once, by id."""
    return tuple(sorted(set(declared_codes()), key=lambda code: code.id))


def codes_called(text: str) -> frozenset[Code]:
    """Return the codes that an id, the beginning of one, or a name stands for."""
    return frozenset(
        code for code in all_codes() if code.id.startswith(text.upper()) or code.name == text.lower()
    )


def codes_of(argument: str, texts: Iterable[str]) -> frozenset[Code]:
    """Return the codes that any of the texts stands for; raise UnusableArgument for one that is no code's."""
    codes: set[Code] = set()
    for text in texts:
        called = codes_called(text)
        if not called:
            near = nearest_name(text.lower(), [code.name for code in all_codes()])
            ask = f"; did you mean '{near}'?" if near else ""
            raise UnusableArgument(argument, f"no code is called '{text}'{ask}")
        codes |= called
    return frozenset(codes)


def find_code(text: str) -> Code | None:
    """Return the code with this id or name, in any case."""
    wanted = text.lower()
    return next((code for code in all_codes() if wanted in {code.id.lower(), code.name}), None)
