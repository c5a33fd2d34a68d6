"""The rig of two nodes, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

RIG = Path(__file__).parents[1] / "rig" / "two_nodes"


def missing() -> str:
    """Say what the rig lacks on this machine; nothing where it can run."""
    if os.name != "posix" or os.geteuid() != 0:
        return "root"
    tools = [name for name in ("ip", "tc", "bash") if shutil.which(name) is None]
    if tools:
        return ", ".join(tools)
    name = f"hp-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return "" if made else "network namespaces"


def two_nodes(rate: str, *worker: str, ranks: int = 2, patience: float = 240.0) -> str:
    """Run a worker under torchrun on two nodes joined by a link of that rate; return what node 0 prints."""
    command = [str(RIG), "--rate", rate, "--ranks", str(ranks), "--python", sys.executable, "--", *worker]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience)
    assert done.returncode == 0, done.stderr
    return done.stdout
