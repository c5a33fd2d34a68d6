"""The end of a process that has exchanged something."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, threading, time
from hpplan.exchange.transport import Transport

def late():
    time.sleep(0.03)
    os.write(1, b"let go")

for _ in range(3):
    Transport(None, None)
threading.Thread(target=late, daemon=True).start()
"""


@pytest.mark.slow
def test_threads_of_torch_may_finish_before_the_interpreter() -> None:
    """One that asks for the interpreter's lock while that ends would abort the process (SIGABRT)."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"let go"
