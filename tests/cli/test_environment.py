"""What the machine lacks: memory, the current folder, packages that work."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

NO_MEMORY = "Error: There is not enough memory for this.\n"


@pytest.mark.parametrize("fault", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_too_little_memory(hpplan: Runner, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    """A table that does not fit passes for a bug of ours, with a traceback."""

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("hpplan.documents.reader.read_document", fail)
    assert hpplan("normalize", "plan.yaml") == (2, "", NO_MEMORY)


def test_too_little_memory_while_writing(
    hpplan: Runner, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half of the folder is there, or a temporary file."""

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(os, "fsync", fail)
    sample = str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")
    result = hpplan("compile", sample, "-o", str(tmp_path / "out"))
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith(NO_MEMORY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_address_space_that_is_too_small(root: Path) -> None:
    """The same where memory really is short, while there is hardly any left to say so."""
    sample = str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")
    command = [sys.executable, "-m", "hpplan", "route", sample, "--rank", "all", "--format", "json"]
    for kilobytes in range(20_000, 60_000, 8_000):
        limited = ["/bin/sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", *command]
        done = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.splitlines()[-1].startswith("Error: ")
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "normalize {} -w",
        "normalize {} -o out.yaml",
        "validate plan.yaml",
        "route {v} -o x.json",
        "compile {v} -o out",
    ],
)
def test_vanished_folder(
    hpplan: Runner, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    """A shell that stands in a folder that somebody removed gets a traceback."""
    here = tmp_path / "here"
    here.mkdir()
    plan = tmp_path / "plan.yaml"
    plan.write_text((root / "sample_plans" / "llama3_8b.yaml").read_text())
    monkeypatch.chdir(here)
    here.rmdir()
    result = hpplan(*arguments.format(plan, v=root / "sample_plans" / "qwen3_vl_30b_a3b.yaml").split())
    assert result.status == (0 if "-w" in arguments else 2)
    assert "Traceback" not in result.stderr
    assert result.status == 0 or result.stderr.splitlines()[-1].startswith("Error: ")


def test_a_package_that_does_not_work(root: Path, tmp_path: Path) -> None:
    """A package that was built for another machine passes for a bug of ours."""
    (tmp_path / "yaml.py").write_text("raise ImportError('libyaml.so.0: no such file')")
    command = [sys.executable, "-m", "hpplan", "normalize", str(root / "sample_plans" / "llama3_8b.yaml")]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"}
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: A package that hpplan needs cannot be imported: libyaml.so.0: no such file.\n"
    )


@pytest.mark.parametrize("fault", ["OSError('libtorch.so: no such file')", "AttributeError('_ARRAY_API')"])
def test_torch_that_does_not_work(root: Path, tmp_path: Path, fault: str) -> None:
    """A torch that is installed without a library that it needs ends every worker in a traceback."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(f"raise {fault}")
    sample = str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")
    command = [sys.executable, "-m", "hpplan", "exec", sample, "--mesh", "cp=2", "--launch", "2"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"}
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    name, _, told = fault.rstrip("')").partition("('")
    said = "exec needs PyTorch, and the torch that is installed does not work"
    assert done.stderr == f"Error: {said}: {name}: {told}\n"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("MemoryError", "there is not enough memory"),
        ("ImportError('click.so: gone')", "click.so: gone"),
    ],
)
def test_what_keeps_it_from_starting(root: Path, tmp_path: Path, fault: str, told: str) -> None:
    """The same, as early as can be."""
    (tmp_path / "click.py").write_text(f"raise {fault}")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"}
    command = [sys.executable, "-m", "hpplan", "--version"]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: hpplan cannot start: {told}.\n")


@pytest.mark.parametrize("package", ["torch", pytest.param("transformers", marks=pytest.mark.slow)])
def test_models_that_cannot_be_read(root: Path, tmp_path: Path, package: str) -> None:
    """The same where a model is read."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("raise OSError('lib.so: gone\\nand more')")
    config = str(root / "tests" / "models" / "configs" / "deepseek_v2.json")
    command = [sys.executable, "-m", "hpplan", "freeze", config, "--mesh", "tp=2"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"}
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    said = f"Reading a model needs {package}, and the {package} that is installed does not work"
    assert done.stderr == f"Error: {said}: OSError: lib.so: gone\n"
