"""How long freezing DeepSeek-V3 takes against building its model on the meta device, weights or not."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Measurement, process, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = Path(__file__).parents[1] / "models" / "configs" / "deepseek_v3_671b.json"

BUILD = f"""\
import json, os
os.environ["HF_HUB_OFFLINE"] = "1"
import torch, transformers
config = transformers.DeepseekV3Config.from_dict(json.load(open({str(CONFIG)!r})))
with torch.device("meta"):
    transformers.DeepseekV3ForCausalLM._from_config(config)
"""


def measure() -> Iterator[Measurement]:
    """Yield the ratio of the commands, and of what is left of them once everything is imported."""
    with tempfile.TemporaryDirectory() as folder:
        command = ("freeze", str(CONFIG), "--mesh", "dp=2,cp=2,tp=8,ep=32,sp", "-o", f"{folder}/plan.yaml")
        ours = process(sys.executable, "-W", "ignore", "-m", "hpplan", *command)
        peer = process(sys.executable, "-W", "ignore", "-c", BUILD)
        yield Measurement("freeze DeepSeek-V3, 61 layers, against building it", 1.3, ratio(ours, peer, 5))
