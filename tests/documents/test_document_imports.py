"""Reading and writing documents starts at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_yaml, dump_json
from hpplan.documents.source import Sources
from hpplan.reports.findings.concise import render
data = parse_document(sys.argv[1].encode(), "plan", Sources()).data
dump_yaml(data), dump_json(data), render([], Sources())
print(*sorted(name for name in sys.argv[2].split() if name in sys.modules))
"""

HEAVY = "pydantic pydantic_core rich click torch importlib.metadata pathlib tempfile ruamel yaml"


@pytest.mark.parametrize(("text", "loaded"), [('{"a": 1}', ""), ("a: 1", "yaml")])
def test_imports(text: str, loaded: str) -> None:
    """Every command would start more slowly than it need."""
    command = [sys.executable, "-S", "-c", "import sys; sys.path[:0] = sys.argv.pop().split('|')\n" + PROGRAM]
    command += [text, HEAVY, "|".join(path for path in sys.path if path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    assert set(done.stdout.split()) - {"yaml"} == set()
    assert ("yaml" in done.stdout.split()) == bool(loaded)
