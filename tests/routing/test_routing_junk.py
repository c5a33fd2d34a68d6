"""Documents with anything anywhere are refused with findings, never with a traceback."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutated_tables import failures

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.reports.route.text import render
from hpplan.reports.route.view import RouteView
from hpplan.reports.terminal.screen import Screen
from hpplan.routing.mesh import mesh_of_plan, parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_document import routes_from_data
from hpplan.routing.routes_writer import routes_to_data
from hpplan.workload.workload import load_workload

MESH = parse_mesh("dp=2,cp=2,tp=2,sp")
WORKLOAD: dict[str, Any] = {
    "feature_width": 8,
    "dtype": "float32",
    "payloads": 2,
    "encoder_cp_size": 1,
    "sequence": {"length": 32, "cp_layout": "zigzag", "documents": [8, 24], "pad": True},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
        {"item_id": 1, "batch_index": 1, "output_rows": 4, "spans": [{"token_start": 3, "rows": 4}]},
    ],
    "buckets": [[0], [1], [], []],
    "destinations": {"0": [0, 2]},
}
TABLE = json.loads(json.dumps(routes_to_data(plan_routes(MESH, load_workload(WORKLOAD, Place("w"))))))

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(2**70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def paths(data: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every node."""
    found = [path]
    if isinstance(data, dict):
        for key, value in data.items():
            found += paths(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            found += paths(value, (*path, index))
    return found


def changed(data: Any, path: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401 - any document
    """Return a copy of a document with one node replaced."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(data[path[0]], path[1:], value)
    return copy


@given(path=st.sampled_from(paths(WORKLOAD)), value=junk)
@example(path=("feature_width",), value=2**53 - 1)
@example(path=("items", 0, "batch_index"), value=2**53 - 1)
@settings(max_examples=300)
def test_junk_in_a_workload(path: tuple[Any, ...], value: object) -> None:
    """Some value somewhere in a workload ends in a traceback."""
    with contextlib.suppress(InvalidInput):
        table = plan_routes(MESH, load_workload(changed(WORKLOAD, path, value), Place("w")))
        render(RouteView(table, ""), Screen())


@given(path=st.sampled_from(paths(TABLE)[1:]), value=junk)
@settings(max_examples=300)
def test_junk_in_a_table(path: tuple[Any, ...], value: object) -> None:
    """Some value somewhere in a routing table ends in a traceback, or is run as if it were sound."""
    data = changed(TABLE, path, value)
    try:
        table = routes_from_data(data, Place("t"))
    except InvalidInput as error:
        assert error.diagnostics  # noqa: PT017 - most values are refused, and some say the same as before
    else:
        assert table.digest == TABLE["digest"]


@pytest.mark.slow
def test_a_field_that_disagrees_with_another() -> None:
    """A table with one field changed ends in a traceback, or is run as if it were sound."""
    assert list(failures(step=11)) == []


@given(text=st.text(alphabet="pdctesx=,0123456789 -", max_size=20) | st.text(max_size=8))
@settings(max_examples=300)
def test_junk_as_a_mesh(text: str) -> None:
    """Some text for --mesh ends in a traceback."""
    with contextlib.suppress(InvalidInput):
        assert parse_mesh(str(parse_mesh(text))) == parse_mesh(text)


@given(value=junk | st.dictionaries(st.sampled_from(["tp_size", "dp_size", "sequence_parallel"]), junk))
@settings(max_examples=200)
def test_junk_as_parallel_dims(value: object) -> None:
    """Some value for a plan's sizes ends in a traceback."""
    with contextlib.suppress(InvalidInput):
        mesh_of_plan(value, Place("p"))
