"""Routing tables with one field changed: refused with findings, or the same routes; never a traceback.

`python tests/routing/mutated_tables.py` tries every change of every field.
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.comparison.routes import compare_routes
from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.reports.route.text import render
from hpplan.reports.route.view import RouteView
from hpplan.reports.terminal.screen import Screen
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.routing.routes_document import routes_from_data
from hpplan.routing.routes_writer import routes_to_data
from hpplan.routing.traffic import Link
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hpplan.routing.transfers import Granularity

Path = tuple[str | int, ...]


def _table(mesh: str, workload: dict[str, Any], granularity: Granularity, link: Link | None = None) -> Any:  # noqa: ANN401 - a document
    planned = plan_routes(parse_mesh(mesh), load_workload(workload, Place("w")), granularity)
    return json.loads(json.dumps(routes_to_data(planned, link)))


def _item(item_id: int, batch_index: int, start: int, rows: int) -> dict[str, int]:
    return {
        "item_id": item_id,
        "batch_index": batch_index,
        "decoder_token_start": start,
        "output_rows": rows,
    }


TABLES: tuple[Any, ...] = (
    _table(
        "tp=2,dp=2,cp=2,sp",
        {
            "feature_width": 8,
            "sequence": {"length": 32, "cp_layout": "zigzag", "documents": [8, 24], "pad": True},
            "items": [
                _item(4, 0, 5, 10),
                {
                    **_item(1, 1, 0, 8),
                    "spans": [{"token_start": 0, "rows": 4}, {"token_start": 20, "rows": 4}],
                },
            ],
            "buckets": [[4], [1], [], []],
            "destinations": {"4": [0, 2]},
        },
        "record",
        Link(3.0, 1.0),
    ),
    _table(
        "dp=2,cp=2",
        {
            "sequence": {"length": 16, "cp_layout": "zigzag"},
            "replicas": [
                {"documents": [8, 8], "items": [_item(0, 0, 2, 1)], "buckets": [[0], []]},
                {"documents": [4, 12], "items": []},
            ],
        },
        "row",
    ),
    _table("tp=4", {"encoder_cp_size": 2, "sequence": {"length": 9}, "items": [_item(0, 0, 2, 3)]}, "record"),
    _table("pp=2,tp=2,ep=2,sp", {"sequence": {"length": 8}, "items": [_item(0, 0, 0, 4)]}, "row"),
    _table("tp=1", {"sequence": {"length": 8}, "items": []}, "record"),
)

_NUMBERS = (0, 1, -1, 2, 3, 7, 2**21, 2**22, 2**22 + 1, 2**53 - 1, 2**53, 2**70)
_JUNK = (*_NUMBERS, None, True, False, 1.5, "", "x", "0", [], {}, [[]], [0], {"0": [0]}, {"x": 1})
_NAMES = ("row", "record", "zigzag", "contiguous", "float32", "local", "tp_variable_a2a")


def paths(data: object, path: Path = ()) -> Iterator[Path]:
    """Yield the path to every node below the top."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*path, key)
        yield from paths(value, (*path, key))


class Mutant(NamedTuple):
    """A table with one node changed, and where and how."""

    data: Any
    path: Path
    how: str


def mutants(table: Any, path: Path) -> Iterator[Mutant]:  # noqa: ANN401 - a document
    """Yield a table with every change of one node."""
    *above, key = path
    for how, change in _changes(table, path):
        data = deepcopy(table)
        node = data
        for step in above:
            node = node[step]
        change(node, key)
        yield Mutant(data, path, how)


def _changes(table: Any, path: Path) -> Iterator[tuple[str, Callable[[Any, Any], object]]]:  # noqa: ANN401 - a document
    old = table
    for step in path:
        old = old[step]
    yield "taken out", lambda node, key: node.pop(key)
    if isinstance(path[-1], int):
        yield "twice", lambda node, key: node.insert(key, deepcopy(node[key]))
    values: list[Any] = [*_JUNK]
    if isinstance(old, list) and old:
        values += [old[::-1], old[:-1], old + old]
    elif isinstance(old, str):
        values += _NAMES
    elif isinstance(old, int):
        values += [old + 1, old - 1, 2 * old]
    for value in values:
        yield repr(value), lambda node, key, value=value: node.__setitem__(key, deepcopy(value))


def routes_of(table: RoutingTable) -> list[object]:
    """Return what each rank does."""
    return [table.rank_route(rank) for rank in range(table.mesh.world_size)]


def check(mutant: Mutant, before: RoutingTable) -> None:
    """Fail where a changed table runs other routes than the one it was, or ends in a traceback."""
    try:
        table = routes_from_data(mutant.data, Place("t"))
    except InvalidInput:
        return  # as most changes are; some say the same as before
    assert table.digest == before.digest
    assert routes_of(table) == routes_of(before)
    render(RouteView(table, ""), Screen())
    compare_routes(before, table)


def failures(step: int = 1) -> Iterator[str]:
    """Try every change of every table, or one in `step`; yield what is wrong with each that fails."""
    every = (
        (before, mutant)
        for before, table in _read()
        for path in paths(table)
        for mutant in mutants(table, path)
    )
    for before, mutant in islice(every, 0, None, step):
        try:
            check(mutant, before)
        except Exception as error:  # noqa: BLE001, PERF203 - whatever it is, it is a failure
            yield f"{mutant.path} {mutant.how}: {error!r}"


def _read() -> Iterator[tuple[RoutingTable, Any]]:
    for table in TABLES:
        yield routes_from_data(table, Place("t")), table


if __name__ == "__main__":
    found = list(failures())
    sys.stdout.write("".join(f"{line}\n" for line in found) or "no failures\n")
    sys.exit(bool(found))
