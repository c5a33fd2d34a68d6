"""`hpplan validate`: every option, every format, and the exit statuses as a matrix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hpplan.reports.findings.formats import FORMATS

if TYPE_CHECKING:
    from conftest import Runner

CLEAN = "boundary_classes: {}\nparam_plan: {a: {}}\n"
WARNING = CLEAN + "modeltype: llama\n"
INFO = "boundary_classes: {}\nparam_plan: {a: {}, a.b: {}}\n"
ERROR = "boundary_classes: {}\nparam_plan: {}\n"
BOTH = ERROR + "modeltype: llama\n"
UNPARSABLE = "param_plan: {\n"
RULES = "rules: [{match: 'a*', inner_wrapper: hyper_parallel.models.a.adapter.w}]\n"

MACHINE = [name for name, row in FORMATS.items() if not row.for_people]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a file for each outcome."""
    texts = {
        "clean": CLEAN,
        "warning": WARNING,
        "info": INFO,
        "error": ERROR,
        "both": BOTH,
        "unparsable": UNPARSABLE,
        "rules": RULES,
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


MATRIX = {
    "clean": (["clean.yaml"], 0),
    "warning": (["warning.yaml"], 0),
    "error": (["error.yaml"], 1),
    "unparsable": (["unparsable.yaml"], 1),
    "missing file": (["error.yaml", "missing.yaml"], 2),
    "bad option": (["clean.yaml", "--nonsense"], 2),
}


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("outcome", MATRIX)
def test_exit_statuses(hpplan: Runner, folder: Path, outcome: str, format_name: str) -> None:
    """CI decides by the status, whatever format it asked for; a failure must leave no half report."""
    del folder
    arguments, status = MATRIX[outcome]
    result = hpplan("validate", *arguments, "--output-format", format_name)
    assert result.status == status
    if status == 2:
        assert result.stdout == ""
        assert result.stderr
    elif outcome != "clean" or format_name in {"json", "gitlab", "junit", "sarif"}:
        assert result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("outcome", MATRIX)
def test_exit_statuses_of_processes(folder: Path, outcome: str) -> None:
    """The console script and `python -m` must say the same as the function in them."""
    arguments, status = MATRIX[outcome]
    script = str(Path(sys.executable).with_name("hpplan"))
    for format_name in FORMATS:
        ended = []
        for start in ([script], [sys.executable, "-m", "hpplan"]):
            command = [*start, "validate", *arguments, "--output-format", format_name]
            ended.append(subprocess.run(command, cwd=folder, capture_output=True, check=False))
        assert [done.returncode for done in ended] == [status, status]
        assert ended[0].stdout == ended[1].stdout
        assert b"Traceback" not in ended[0].stderr


@pytest.mark.parametrize(
    ("fail_on", "statuses"),
    [("error", [0, 0, 0, 1]), ("warning", [0, 0, 1, 1]), ("info", [0, 1, 1, 1])],
)
def test_fail_on(hpplan: Runner, folder: Path, fail_on: str, statuses: list[int]) -> None:
    """A team that wants no warnings must be able to say so."""
    del folder
    ended = [
        hpplan("validate", f"{name}.yaml", "--rules", "rules.yaml", "--fail-on", fail_on).status
        for name in ("clean", "info", "warning", "error")
    ]
    assert ended == statuses


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], ["HP112", "HP111"]),
        (["--select", "HP112"], ["HP112"]),
        (["--select", "empty-param-plan,HP3"], ["HP112"]),
        (["--ignore", "hp112"], ["HP111"]),
        (["--select", "HP1", "--ignore", "unknown-field"], ["HP112"]),
        (["--select", "HP2"], []),
        (["--ignore", "HP111", "--ignore", "HP112"], []),
    ],
)
def test_select_and_ignore(hpplan: Runner, folder: Path, options: list[str], codes: list[str]) -> None:
    """Findings are chosen by id, by the beginning of an id, or by name; ignoring wins."""
    del folder
    result = hpplan("validate", "both.yaml", *options, "--output-format", "json")
    assert [item["code"] for item in json.loads(result.stdout)] == codes
    assert result.status == (1 if "HP112" in codes else 0)


def test_an_unknown_code_is_a_usage_error(hpplan: Runner, folder: Path) -> None:
    """A misspelt code that selects nothing would look like a clean plan."""
    del folder
    result = hpplan("validate", "clean.yaml", "--select", "HP777")
    assert (result.status, result.stdout) == (2, "")
    assert "no code is called 'HP777'" in result.stderr
    misspelt = hpplan("validate", "clean.yaml", "--ignore", "HP2,unknown-fields")
    assert "no code is called 'unknown-fields'; did you mean 'unknown-field'?" in misspelt.stderr


def test_what_blocks_reading_cannot_be_ignored(hpplan: Runner, folder: Path) -> None:
    """What else is wrong with such a file is not known, so it is not in order."""
    del folder
    result = hpplan("validate", "unparsable.yaml", "--ignore", "HP002", "--select", "HP2")
    assert result.status == 1
    assert "HP002" in result.stdout


def test_findings_of_several_files_are_sorted(hpplan: Runner, folder: Path) -> None:
    """One run reports everything, in an order that does not depend on the command line."""
    del folder
    result = hpplan("validate", "warning.yaml", "unparsable.yaml", "both.yaml", "--output-format", "concise")
    lines = [line.partition(" ")[0] for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert lines == ["both.yaml:2:13:", "both.yaml:3:1:", "unparsable.yaml:2:1:", "warning.yaml:3:1:"]
    assert result.stderr.splitlines()[-1] == "2 errors, 2 warnings in 3 files."


def test_standard_input(hpplan: Runner) -> None:
    """A plan may come through a pipe; only one file can."""
    result = hpplan("validate", "-", "--output-format", "concise", stdin=ERROR.encode())
    assert result.status == 1
    assert result.stdout.startswith("<stdin>:2:13: HP112 error")
    assert hpplan("validate", "-", "--rules", "-").status == 2


def test_a_report_in_a_file(hpplan: Runner, folder: Path) -> None:
    """The report goes to the file, also when its verdict is no; a failed run leaves the file alone."""
    result = hpplan("validate", "error.yaml", "--output-format", "json", "-o", "report.json")
    assert (result.status, result.stdout) == (1, "")
    assert [item["code"] for item in json.loads((folder / "report.json").read_text())] == ["HP112"]
    before = (folder / "report.json").read_bytes()
    assert hpplan("validate", "missing.yaml", "-o", "report.json").status == 2
    assert (folder / "report.json").read_bytes() == before


def test_statistics(hpplan: Runner, folder: Path) -> None:
    """Counts come below a report for people, and beside one for machines."""
    del folder
    table = (
        "count  code   name              severity\n"
        "    1  HP111  unknown-field     warning\n"
        "    1  HP112  empty-param-plan  error\n"
    )
    shown = hpplan("validate", "both.yaml", "--statistics")
    assert shown.stdout.endswith(f"\n\n{table}")
    assert hpplan("validate", "both.yaml", "--statistics", "-o", "-") == shown
    piped = hpplan("validate", "both.yaml", "--statistics", "--output-format", "json")
    assert len(json.loads(piped.stdout)) == 2
    assert piped.stderr == table


def test_mesh(hpplan: Runner, folder: Path) -> None:
    """A mesh that is none is a bad option: no file has it, so no report may name one."""
    del folder
    assert hpplan("validate", "clean.yaml", "--mesh", "dp=2,tp=4,sp").status == 0
    for text, says in (
        ("dp=2,tq=4", "--mesh:1:6: HP402 error: `tq` is no axis of the mesh"),
        ("tp=0", "--mesh:1:4: HP404 error: the size of tp must be"),
        ("", "--mesh:1:1: HP401 error: a part is empty"),
        ("tp=2,ep=3", "--mesh:1:1: HP405 error: ep=3 does not divide"),
    ):
        for format_name in FORMATS:
            result = hpplan("validate", "error.yaml", "--mesh", text, "--output-format", format_name)
            assert (result.status, result.stdout) == (2, "")
            assert result.stderr.startswith(says)


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_name_that_is_not_utf8(hpplan: Runner, folder: Path, format_name: str) -> None:
    """A file from another system must not end the report with a traceback, or make it unreadable."""
    name = os.fsdecode(b"\xff.yaml")
    (folder / name).write_text(BOTH, encoding="utf-8")
    result = hpplan("validate", name, "clean.yaml", "--output-format", format_name, "-o", "report")
    assert (result.status, result.stdout) == (1, "")
    report = (folder / "report").read_text(encoding="utf-8")
    shown = {"sarif": '"%FF.yaml"', "full": "\\udcff.yaml:2:13", "junit": '"\\udcff.yaml"'}
    assert shown.get(format_name, "udcff.yaml") in report
    if format_name in {"json", "gitlab", "sarif"}:
        str(json.loads(report)).encode()


def test_broken_rules_are_findings(hpplan: Runner, folder: Path) -> None:
    """A rules file that does not parse is reported in the format asked for, beside the plan's own faults."""
    del folder
    result = hpplan("validate", "error.yaml", "--rules", "unparsable.yaml", "--output-format", "json")
    assert result.status == 1
    assert [item["code"] for item in json.loads(result.stdout)] == ["HP112", "HP002"]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["clean.yaml"], "1 file."),
        (["clean.yaml", "--rules", "rules.yaml"], "2 files."),
        (["clean.yaml", "error.yaml", "--rules", "unparsable.yaml"], "3 files."),
        (["error.yaml", "--rules", "unparsable.yaml", "--strategies", "rules.yaml"], "3 files."),
    ],
)
def test_the_summary_counts_every_file(
    hpplan: Runner, folder: Path, arguments: list[str], where: str
) -> None:
    """Findings in a rules file are counted among those of one plan."""
    del folder
    assert hpplan("validate", *arguments).stderr.splitlines()[-1].endswith(f" in {where}")


@pytest.mark.slow
@pytest.mark.parametrize("format_name", FORMATS)
def test_no_escape_byte_in_a_pipe(folder: Path, format_name: str) -> None:
    """Colour codes in a log or a report make it unreadable, whatever the environment asks for."""
    (folder / "plan.yaml").write_text('boundary_classes: {}\nparam_plan: {"\\e[31m": {"a\\e[0m": 1}}\n')
    seen = set()
    # Machine formats never look at these variables; the most insistent combination is enough for them.
    people = format_name not in MACHINE
    combinations = product(("", "1", None), ("", "1", None), ("dumb", "xterm-256color"))
    for no_color, force_color, term in combinations if people else [(None, "1", "xterm-256color")]:
        environment = {"PATH": "/usr/bin:/bin", "TERM": term, "COLORTERM": "truecolor"}
        environment |= {"NO_COLOR": no_color} if no_color is not None else {}
        environment |= {"FORCE_COLOR": force_color} if force_color is not None else {}
        command = [sys.executable, "-m", "hpplan", "validate", "plan.yaml", "--output-format", format_name]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        assert b"\x1b" not in done.stdout + done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


def test_colour_only_where_asked(hpplan: Runner, folder: Path) -> None:
    """The flag alone colours a pipe, and never a format that machines read."""
    for format_name in ("full", "concise"):
        arguments = ["validate", "error.yaml", "--output-format", format_name]
        assert "\x1b[1;31mHP112 error:\x1b[0m" in hpplan("--color", "always", *arguments).stdout
        assert "\x1b" not in hpplan(*arguments).stdout
    hpplan("--color", "always", "validate", "error.yaml", "-o", "report.txt")
    assert "\x1b" not in (folder / "report.txt").read_text(encoding="utf-8")
    for format_name in MACHINE:
        coloured = hpplan("--color", "always", "validate", "error.yaml", "--output-format", format_name)
        assert "\x1b" not in coloured.stdout


@pytest.mark.slow
def test_an_ascii_terminal_survives(folder: Path) -> None:
    """A name in another script must not end the report with a traceback."""
    (folder / "plan.yaml").write_text("boundary_classes: {名: M}\nparam_plan: {a: {}}\n", encoding="utf-8")
    command = [sys.executable, "-m", "hpplan", "validate", "plan.yaml"]
    environment = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 1
    assert "名".encode() in done.stdout
    assert b"Traceback" not in done.stderr


def test_validate_imports_neither_rich_nor_torch(folder: Path) -> None:
    """Both take longer to import than a plan takes to check."""
    code = (
        "import sys; from hpplan.cli.main import main\n"
        "try: main(['validate', 'both.yaml'])\n"
        "finally: print(sorted({'rich', 'torch', 'pydantic'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=False)
    assert done.stderr.decode().splitlines()[-1] == "[]"


@pytest.mark.slow
def test_the_same_bytes_under_any_hash_seed(root: Path) -> None:
    """A report that changes from run to run cannot be compared."""
    plan = str(root / "tests" / "cases" / "reports" / "plan.yaml")
    seen = set()
    for seed in ("0", "1", "42"):
        command = [sys.executable, "-m", "hpplan", "validate", plan, "--output-format", "sarif"]
        environment = {"PYTHONHASHSEED": seed, "TZ": f"UTC+{seed[0]}", "LC_ALL": "C"}
        seen.add(subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False).stdout)
    assert len(seen) == 1
