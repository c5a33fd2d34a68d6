"""Every format renders the same two fixtures, and is valid where nothing was found."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.reader import parse_document
from hpplan.documents.source import Source, Sources
from hpplan.errors import InvalidInput
from hpplan.reports.findings.formats import FORMATS, renderer
from hpplan.reports.findings.full import render as render_full
from hpplan.validation.run import CheckRun
from hpplan.version import __version__

FIXTURES = Path(__file__).parents[1] / "cases" / "reports"
SNAPSHOTS = Path(__file__).parent / "snapshots"
DOCUMENTS = ("plan.yaml", "cut_short.json")

CODE = Code("HP999", "made-up", "error", "## What it finds\nNothing.\n")


def checked(name: str) -> tuple[list[Diagnostic], Sources]:
    """Return the findings in a fixture, and the sources that know their positions."""
    sources = Sources()
    run = CheckRun()
    try:
        run.check(parse_document((FIXTURES / name).read_bytes(), name, sources))
    except InvalidInput as failure:
        run.blocking.extend(failure.diagnostics)
    run.finish()
    return [*run.blocking, *run.findings], sources


def one(message: str, name: str = "plan.yaml") -> tuple[list[Diagnostic], Sources]:
    """Return one finding at the top of a document."""
    sources = Sources()
    sources.add(Source(name, "a: 1\n", "yaml"))
    return [Diagnostic(CODE, message, Place(name))], sources


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_snapshot(format_name: str, name: str) -> None:
    """A format that drops or reorders what it was given would change reports people rely on."""
    text = renderer(format_name)(*checked(name))
    expected = (SNAPSHOTS / f"{name.partition('.')[0]}.{format_name}.txt").read_text(encoding="utf-8")
    assert text == expected.replace("{version}", __version__)


@pytest.mark.parametrize(
    ("format_name", "expected"),
    [("full", ""), ("concise", ""), ("json", []), ("jsonl", ""), ("github", ""), ("gitlab", [])],
)
def test_nothing_found(format_name: str, expected: object) -> None:
    """An empty report that a machine cannot read breaks the pipeline that has nothing to complain of."""
    text = renderer(format_name)([], Sources())
    assert (json.loads(text) if isinstance(expected, list) else text) == expected


@pytest.mark.parametrize("name", ["nothing", *DOCUMENTS])
def test_sarif_follows_its_schema(name: str) -> None:
    """A log that does not follow the schema is refused by code scanning services."""
    findings, sources = checked(name) if name != "nothing" else ([], Sources())
    log = json.loads(renderer("sarif")(findings, sources))
    schema = json.loads((FIXTURES / "sarif-2.1.0.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(schema).validate(log)
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(rules)
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [
        result["ruleId"] for result in run["results"]
    ]
    assert len(run["results"]) == len(findings)


@pytest.mark.parametrize("name", ["nothing", *DOCUMENTS])
def test_junit_follows_its_schema(name: str) -> None:
    """A report that does not follow the schema is shown as a failure to read it."""
    findings, sources = checked(name) if name != "nothing" else ([], Sources())
    text = renderer("junit")(findings, sources)
    schema = xmlschema.XMLSchema(str(FIXTURES / "junit.xsd"))
    schema.validate(text)
    data: Any = schema.to_dict(text)
    assert data["@tests"] == max(1, len(findings))
    assert data["@failures"] == len(findings)


def test_junit_has_a_passed_case_for_a_clean_file() -> None:
    """A file without findings looks as if nobody had checked it, and a dashboard forgets it."""
    sources = Sources()
    for name in ("b.yaml", "a.yaml", "c&d.yaml"):
        sources.add(Source(name, "a: 1\n", "yaml"))
    report = ET.fromstring(renderer("junit")([Diagnostic(CODE, "wrong", Place("b.yaml"))] * 2, sources))  # noqa: S314 - our own report
    assert (report.get("tests"), report.get("failures")) == ("4", "2")
    assert [
        (case.get("classname"), case.get("name"), case.find("failure") is None)
        for case in report.iter("testcase")
    ] == [
        ("a.yaml", "no findings", True),
        ("b.yaml", "HP999 made-up 1:1", False),
        ("b.yaml", "HP999 made-up 1:1", False),
        ("c&d.yaml", "no findings", True),
    ]


def test_junit_escapes_what_xml_cannot_hold() -> None:
    """A control character or a bracket from a plan would make the whole report unreadable."""
    text = renderer("junit")(*one('a\x00b <c> & "d" \x1b[31m \ud800'))
    xmlschema.XMLSchema(str(FIXTURES / "junit.xsd")).validate(text)
    assert "a\\x00b &lt;c&gt; &amp;" in text
    assert "\x1b" not in text


def test_junit_holds_what_it_was_given() -> None:
    """XML turns a carriage return into a line break, and some readers take U+0085 for one."""
    said = "a\rb\x85c\u2028d\te\x9b31m"
    text = renderer("junit")(*one(f"{said}\nf"))
    assert not set(said).difference("abcde31m").intersection(text)
    failure = ET.fromstring(text).find(".//failure")  # noqa: S314 - our own report
    assert failure is not None
    assert str(failure.text).endswith("a\\rb\\x85c\\u2028d\\te\\x9b31m\nf")
    assert failure.get("message") == "a\\rb\\x85c\\u2028d\\te\\x9b31m\nf"


def test_github_escapes_data_and_properties() -> None:
    """A line break or a colon from a plan would end the annotation, or begin another command."""
    text = renderer("github")(*one("50%, a:b\r\n::error::x", name="a:b,c%.yaml"))
    assert text == (
        "::error file=a%3Ab%2Cc%25.yaml,line=1,endLine=1,col=1,title=HP999 made-up"
        "::50%25, a:b\\r%0A::error::x\n"
    )


def test_gitlab_fingerprints_are_unique_and_know_no_lines() -> None:
    """GitLab takes findings with one fingerprint for one, and a moved one for a new one."""
    findings, sources = checked("plan.yaml")
    before = [
        issue["fingerprint"] for issue in json.loads(renderer("gitlab")([*findings, *findings], sources))
    ]
    assert len(set(before)) == 2 * len(findings)
    moved = Sources()
    moved.add(Source("plan.yaml", "# a line more\n" + (FIXTURES / "plan.yaml").read_text("utf-8"), "yaml"))
    after = json.loads(renderer("gitlab")([*findings, *findings], moved))
    assert [issue["fingerprint"] for issue in after] == before
    assert all(issue["location"]["lines"]["begin"] > 1 for issue in after)


def test_gitlab_fingerprints_know_no_list_indices() -> None:
    """A rule that is written above the others would make each of their findings a new one."""
    rules = [f"{{match: a, local_compute_fn: t.{name}}}" for name in "xyz"]

    def fingerprints(*rules: str) -> set[str]:
        sources = Sources()
        run = CheckRun()
        text = "rules: [" + ", ".join(rules) + "]"
        run.check(parse_document(text.encode(), "rules.yaml", sources))
        issues = json.loads(renderer("gitlab")(run.findings, sources))
        assert len({issue["fingerprint"] for issue in issues}) == len(rules)
        return {issue["fingerprint"] for issue in issues}

    assert fingerprints(*rules[1:]) < fingerprints(*rules)
    assert fingerprints(rules[0], rules[0], *rules[1:]) > fingerprints(*rules)


def test_paths_below_the_working_directory_are_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services match findings to files by their path from the top of the checkout."""
    monkeypatch.chdir(tmp_path)
    inside, outside = str(tmp_path / "a b" / "plan.yaml"), "/elsewhere/plan.yaml"
    back = f"../{tmp_path.name}/a/../plan.yaml"
    for name, uri, path in (
        (back, "plan.yaml", "plan.yaml"),
        ("../plan.yaml", "../plan.yaml", "../plan.yaml"),
        ("..plan.yaml", "..plan.yaml", "..plan.yaml"),
        (inside, "a%20b/plan.yaml", "a b/plan.yaml"),
        (outside, "file:///elsewhere/plan.yaml", outside),
        ("./plan.yaml", "plan.yaml", "plan.yaml"),
        ("<stdin>", "%3Cstdin%3E", "<stdin>"),
    ):
        sarif = json.loads(renderer("sarif")(*one("x", name=name)))
        location = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert location["artifactLocation"] == {"uri": uri}
        gitlab = json.loads(renderer("gitlab")(*one("x", name=name)))
        assert gitlab[0]["location"]["path"] == path
        assert f"file={path}," in renderer("github")(*one("x", name=name))


def test_full_keeps_names_whole_and_markup_as_it_is() -> None:
    """A name that is cut, or taken for markup, cannot be searched for in the plan."""
    name = "[bold]" + "n" * 114
    sources = Sources()
    sources.add(Source("p.yaml", f'"{name}": 1\n', "yaml"))
    finding = Diagnostic(CODE, f"'{name}' is wrong", Place("p.yaml").key(name))
    text = render_full([finding], sources)
    assert text.count(name) == 2
    assert f'1 | "{name}": 1\n  | {"^" * 122}\n' in text


def test_full_shows_a_window_of_an_endless_line() -> None:
    """A plan in one line of megabytes would flood the terminal for each finding."""
    text = '{"a": "' + "x" * 100_000 + '", "b": 1, "c": "' + "y" * 100_000 + '"}'
    sources = Sources()
    sources.add(Source("p.json", text, "json"))
    shown = render_full([Diagnostic(CODE, "wrong", Place("p.json").key("b"))], sources)
    excerpt, mark = shown.splitlines()[1:3]
    assert len(excerpt) < 300
    assert excerpt[mark.index("^") : mark.rindex("^") + 1] == '"b"'


@pytest.mark.parametrize(
    ("line", "key", "mark"),
    [
        ("\tb: {c: 1}", 1, "    ^"),  # a tab takes four columns
        ("名: {c: 1}", 3, "    ^^^^^^"),  # a wide character takes two
    ],
)
def test_full_marks_the_right_columns(line: str, key: int, mark: str) -> None:
    """A mark below the wrong column points at something that is in order."""
    sources = Sources()
    sources.add(Source("p.yaml", line + "\n", "yaml"))
    place = Place("p.yaml", position=(1, key + 1))
    shown = render_full([Diagnostic(CODE, "wrong", place)], sources).splitlines()
    assert shown[2].startswith("  | " + mark[:5])


def test_no_format_writes_escapes_unless_asked() -> None:
    """An escape from a name would colour, move or retitle the terminal of whoever reads the log."""
    for format_name in FORMATS:
        assert "\x1b" not in renderer(format_name)(*checked("plan.yaml"))
    assert re.search(r"\x1b\[1;31mHP211 error:\x1b\[0m", render_full(*checked("plan.yaml"), color=True))
