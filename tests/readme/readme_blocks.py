"""Generated parts of the README: what commands print stands between markers and is kept fresh.

`python tests/readme/readme_blocks.py` rewrites them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"

_BLOCK = re.compile(r"<!-- output of: (?P<command>.+?) -->\n```\w*\n.*?```\n", re.DOTALL)
_QUOTE = re.compile(r"<!-- quote of: (?P<path>.+?) -->\n```\w*\n.*?```\n", re.DOTALL)
_FROM, _UP_TO = "# The README quotes from here.\n", "# The README quotes up to here.\n"


def refreshed(text: str) -> str:
    """Return the README with every block replaced by what its command prints, or its file says, now."""
    text = _QUOTE.sub(lambda found: _quote(found["path"]), text)
    return _BLOCK.sub(lambda found: _block(found["command"]), text)


def commands(text: str) -> list[str]:
    """Return the commands whose output stands in the README."""
    return [found["command"] for found in _BLOCK.finditer(text)]


def _block(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "hpplan", command
    done = subprocess.run(
        [sys.executable, "-m", "hpplan", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode in {0, 1}, done.stderr
    return f"<!-- output of: {command} -->\n```\n{done.stdout.rstrip()}\n```\n"


def _quote(path: str) -> str:
    quoted = (ROOT / path).read_text(encoding="utf-8").split(_FROM)[1].split(_UP_TO)[0]
    return f"<!-- quote of: {path} -->\n```python\n{dedent(quoted).strip()}\n```\n"


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
