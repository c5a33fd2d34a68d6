"""Line and column of findings, in YAML block, YAML flow and JSON, against where PyYAML finds the node."""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from random_documents import random_documents
from random_workloads import MESHES, random_workload

from hpplan.documents.reader import parse_document
from hpplan.documents.source import Sources
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.diagnostics import Place


def flow(data: object) -> str:
    """Spell data as YAML in flow style, on lines of 60 characters."""
    return yaml.safe_dump(data, default_flow_style=True, sort_keys=False, width=60)


SPELLINGS: dict[str, Callable[[object], str]] = {
    "block": lambda data: yaml.safe_dump(data, default_flow_style=False, sort_keys=False),
    "flow": flow,
    "json": lambda data: json.dumps(data, indent=2),
    "one line of json": json.dumps,
}


@lru_cache
def composed(text: str) -> Any:  # noqa: ANN401 - nodes of a package without types
    """Return the nodes of a text as PyYAML composes them."""
    return yaml.compose(text, Loader=yaml.SafeLoader)


def where(text: str, place: Place) -> tuple[int, int]:
    """Return line and column of a place, or of the key of the nearest node above that is there."""
    node = composed(text)
    mark, key = node.start_mark, None
    for step in place.path:
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == step), None)
        else:
            here = isinstance(node, yaml.SequenceNode) and len(node.value) > step
            found = (None, node.value[step]) if here else None
        if found is None:
            mark = mark if key is None else key.start_mark
            break
        key, node = found
        mark = node.start_mark
    else:
        mark = key.start_mark if place.on_key and key is not None else mark
    return mark.line + 1, mark.column + 1


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_findings_are_where_their_nodes_are(spelling: str) -> None:
    """A finding on the line above, or at the value where the name is wrong, sends people elsewhere."""
    checked = 0
    for seed in range(60):
        random = Random(seed)  # noqa: S311 - no secret
        documents = random_documents(random)
        texts = {name: SPELLINGS[spelling](data) for name, data in documents.items()}
        texts["workload"] = SPELLINGS[spelling](random_workload(random))
        mesh = random.choice(MESHES)
        sources = Sources()
        run = CheckRun(mesh=parse_mesh(mesh) if mesh else None)
        read = {name: parse_document(text.encode(), name, sources) for name, text in texts.items()}
        if "rules" in read:
            run.use_rules(read["rules"])
        if "strategies" in read:
            run.use_strategies(read["strategies"])
        run.check(read["plan"])
        run.check(read["workload"])
        run.finish()
        findings = [*run.blocking, *run.findings]
        places = {place for item in findings for place in (item.place, *item.related)}
        for place, position in sources.positions(places).items():
            assert position == where(texts[place.document], place), place
            checked += 1
    assert checked > 500
