"""No command writes over a file that it reads, unless that is what it was asked for."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("deepseek_v3.rules.yaml", ["normalize", "{samples}/deepseek_v3.yaml", "--rules", "{file}"]),
        ("deepseek_v3.yaml", ["validate", "{file}"]),
        ("workloads/qwen3_vl_30b_a3b.mixed.yaml", ["route", "{file}", "--mesh", "cp=2,sp"]),
        ("batches/qwen3_vl.jsonl", ["workload", "{file}", "--model", "qwen3_vl"]),
    ],
)
def test_inputs_survive(hpplan: Runner, root: Path, tmp_path: Path, name: str, arguments: list[str]) -> None:
    """A slip of the hand replaces a plan, its rules, a workload or a batch by a report."""
    file = tmp_path / "input"
    shutil.copy(root / "sample_plans" / name, file)
    before = file.read_bytes()
    filled = [part.format(samples=root / "sample_plans", file=file) for part in arguments]
    link = tmp_path / "link"
    link.symlink_to(file)
    for target in (file, link):
        result = hpplan(*filled, "-o", str(target))
        assert (result.status, result.stdout) == (2, "")
        assert "would overwrite" in result.stderr
    assert file.read_bytes() == before


@pytest.fixture
def job(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, the current one, with plan, rules, strategies and workload in files of these names."""
    samples = root / "sample_plans"
    for name, source in (
        ("plan", "qwen3_vl_30b_a3b.yaml"),
        ("rules", "qwen3_vl_30b_a3b.rules.yaml"),
        ("workload", "workloads/qwen3_vl_30b_a3b.mixed.yaml"),
    ):
        shutil.copy(samples / source, tmp_path / name)
    (tmp_path / "strategies").write_text("strategies: []\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("how", ["itself", "symbolic link", "hard link"])
@pytest.mark.parametrize("which", ["plan", "rules", "strategies", "workload"])
@pytest.mark.parametrize("target", ["plan.yaml", "routes.json"])
def test_inputs_of_compile_survive(hpplan: Runner, job: Path, which: str, target: str, how: str) -> None:
    """What is compiled takes the place of what it was compiled from."""
    names = {name: name for name in ("plan", "rules", "strategies", "workload")}
    out = job / "out"
    out.mkdir()
    if how == "itself":
        names[which] = f"out/{target}"
        (job / which).rename(out / target)
    elif how == "symbolic link":
        (out / target).symlink_to(f"../{which}")
    else:
        (out / target).hardlink_to(job / which)
    before = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}
    options = [f"--{name}={names[name]}" for name in ("rules", "strategies", "workload")]
    result = hpplan("compile", names["plan"], *options, "-o", "out")
    assert (result.status, result.stdout) == (2, "")
    assert f"-o out would overwrite out/{target}, which is read; name another folder" in result.stderr
    assert {path: path.read_bytes() for path in job.rglob("*") if path.is_file()} == before


def test_inputs_of_traces_survive(hpplan: Runner, job: Path) -> None:
    """The trace of a rank takes the place of the workload that it is of."""
    out = job / "out"
    out.mkdir()
    (job / "workload").rename(out / "3.json")
    before = (out / "3.json").read_bytes()
    result = hpplan("route", "out/3.json", "--mesh", "cp=2,tp=2,sp", "--export", "param", "-o", "out")
    assert (result.status, result.stdout) == (2, "")
    assert "-o out would overwrite out/3.json, which is read; name another folder" in result.stderr
    assert [path.name for path in out.iterdir()] == ["3.json"]
    assert (out / "3.json").read_bytes() == before


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "link"])
def test_piped_plan_survives(job: Path, name: str) -> None:
    """The file that a shell reads standard input from is cut off and written anew."""
    (job / "link").symlink_to("/dev/stdin")
    before = (job / "plan").read_bytes()
    command = [sys.executable, "-m", "hpplan", "normalize", "-w", name]
    with (job / "plan").open() as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"standard input ('{name}') has no file to write to; leave out -w" in done.stderr
    assert (job / "plan").read_bytes() == before


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_piped_workload_survives(job: Path, name: str) -> None:
    """A report takes the place of the file that a shell reads standard input from."""
    before = (job / "workload").read_bytes()
    command = [sys.executable, "-m", "hpplan", "route", name, "--mesh", "cp=2,sp", "-o", "workload"]
    with (job / "workload").open() as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "-o workload would overwrite what is read from it" in done.stderr
    assert (job / "workload").read_bytes() == before


@pytest.mark.parametrize("command", ["compile plan -o new/er", "route plan --export param -o new/er"])
def test_a_full_disk_leaves_no_folder(
    hpplan: Runner, job: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A part of what a folder was to hold is there, and no word which."""
    sync, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    result = hpplan(*command.split())
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith(".json: no space left on device.\n")
    assert not (job / "new").exists()


def test_split_hard_links_are_named(hpplan: Runner, job: Path) -> None:
    """The other name of a plan keeps what it had, and nobody is told."""
    (job / "twin").hardlink_to(job / "plan")
    before = (job / "twin").read_bytes()
    result = hpplan("normalize", "plan", "-w", "--rules", "rules")
    assert result.status == 0
    assert "plan: was one of 2 hard links, and is a file of its own now\n" in result.stderr
    assert (job / "plan").read_bytes() != before
    assert (job / "twin").read_bytes() == before


def test_report_in_a_folder_that_is_checked(hpplan: Runner, job: Path) -> None:
    """The second run of a gate refuses the report of the first, or a report takes the place of a plan."""
    (job / "plan").rename(job / "plan.yaml")
    for _ in range(2):
        assert hpplan("validate", ".", "--output-format", "gitlab", "-o", "report.json").status < 2
    before = (job / "plan.yaml").read_bytes()
    result = hpplan("validate", ".", "-o", "plan.yaml")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith("Error: Cannot write plan.yaml: it is read as well; name another file.\n")
    assert (job / "plan.yaml").read_bytes() == before


@pytest.mark.parametrize("target", ["rules", "hpplan.toml"])
def test_what_a_configuration_names_survives(hpplan: Runner, job: Path, target: str) -> None:
    """The rules of a plan, or what names them, are overwritten because nobody typed their names."""
    (job / "hpplan.toml").write_text('[[plans]]\nfiles = "plan"\nrules = "rules"\n')
    before = (job / target).read_bytes()
    result = hpplan("normalize", "plan", "-o", target)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith(f"Error: Cannot write {target}: it is read as well; name another file.\n")
    assert (job / target).read_bytes() == before
    assert hpplan("normalize", "plan", "-o", "plan").status == 0
