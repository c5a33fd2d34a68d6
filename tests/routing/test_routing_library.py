"""`hpplan.routing` as a library."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import hpplan.routing
from hpplan.errors import InvalidInput
from hpplan.routing import load_workload, parse_mesh, plan_routes, routes_from_data


def test_the_example_runs() -> None:
    """What the first page of the library shows does not work."""
    assert doctest.testmod(hpplan.routing) == (0, 5)


def test_every_export_is_there() -> None:
    """A public name leads nowhere."""
    for name in hpplan.routing.__all__:
        assert getattr(hpplan.routing, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'plan_all'"):
        hpplan.routing.plan_all  # noqa: B018 - it raises


def test_importing_is_free() -> None:
    """Importing the package alone imports what few of its users need."""
    code = "import sys, hpplan.routing; print(sorted({'pydantic_core', 'torch', 'rich'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_data_needs_no_place() -> None:
    """A trainer that has plain data has to make up a document for it."""
    workload = load_workload({"sequence": {"length": 8}, "items": []})
    table = plan_routes(parse_mesh("cp=2"), workload)
    assert routes_from_data(table.to_data()).digest == table.digest
    with pytest.raises(InvalidInput, match="the field `items` is missing"):
        load_workload({"sequence": {"length": 8}})
