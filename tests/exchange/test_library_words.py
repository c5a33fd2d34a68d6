"""The library as its documentation says it is used, and errors in its own words."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hpplan import document_text, load_routes, load_workload, parse_mesh, plan_routes

WORKLOAD = {
    "sequence": {"length": 32},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 20}],
}


def test_tables_come_from_documents_as_the_docstring_says() -> None:
    """Somebody who has routes.json must get to an exchange without reading hpplan's sources."""
    routes = plan_routes(parse_mesh("cp=2"), load_workload(WORKLOAD))
    again = load_routes(json.loads(document_text(routes, "json")))
    assert again.digest == routes.digest


def test_errors_can_be_caught_by_names_of_the_package() -> None:
    """They are raised by it, so nobody should have to look for them elsewhere, nor pay for torch."""
    program = (
        "import sys\n"
        "from hpplan.exchange import InvalidInput, UnusableRequest\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.slow
def test_mesh_of_the_library_is_no_option() -> None:
    """A caller of the library has given no `--mesh`."""
    program = (
        "import torch.distributed as dist\n"
        "from hpplan.errors import InvalidInput\n"
        "from hpplan.exchange import FeatureExchange\n"
        "try:\n"
        "    FeatureExchange.plan([], 'cp=x', {'length': 8})\n"
        "except InvalidInput as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.startswith(b"mesh: HP4"), done.stdout


@pytest.mark.slow
def test_torch_without_numpy_does_not_warn() -> None:
    """A package that hpplan does not use is asked for in the terminal of everybody who imports it."""
    program = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"  # as if it were not installed
        "from hpplan.exchange import FeatureExchange, ExchangeGroup\n"
        "import torch.distributed"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
