"""What the command line says about a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the command line says about a run. `timeout` is in seconds."""

    backend: str = "auto"
    device: str = "auto"
    dtype: str | None = None
    """Instead of the workload's."""
    iterations: int = 20
    warmup: int = 3
    backward: bool = True
    verify: bool = True
    timeout: float = 60.0
    calibrate: bool = False
    """Whether links are measured, and no routes run."""
