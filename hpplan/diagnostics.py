"""Data about what is wrong with an input: codes, places and findings.

Nothing here knows about text: lines and columns are worked out from a
place's path when a report is rendered (`hpplan.documents.source`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning", "info"]
"""How much a finding matters; only errors change the exit status by default."""

Path = tuple[str | int, ...]
"""Keys and list indices that lead from the top of a document to a node."""

Position = tuple[int, int]
"""Line and column, both counted from 1, columns in characters."""

_LONGEST = 4000
"""Characters of a message or a hint."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class CodeFile:
    """The codes of one Python file; the Markdown file beside it has their texts: `# HP001 not-utf8`."""

    def __init__(self, python_file: str) -> None:
        """Start without codes."""
        self._texts = python_file.removesuffix(".py") + ".md"
        self._codes: list[Code] = []

    def code(self, id_: str, name: str, severity: Severity) -> Code:
        """Declare a code."""
        code = Code(id_, name, severity, self)
        self._codes.append(code)
        return code

    def codes(self) -> tuple[Code, ...]:
        """Return the codes that were declared so far."""
        return tuple(self._codes)

    def text(self, code: Code) -> str:
        """Return the text under a code's heading; raise LookupError where there is none."""
        with open(self._texts, encoding="utf-8") as file:  # noqa: PTH123 - `Path` is a path in a document here
            text = f"\n{file.read()}\n# HP"
        _, _, section = text.partition(f"\n# {code.id} {code.name}\n\n")
        if not section:
            raise LookupError(f"no text of {code.id} {code.name} in {self._texts}")
        return section.partition("\n# HP")[0].rstrip() + "\n"


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding: its stable id, name, severity and documentation.

    `text` is the documentation, or the file that has it.
    """

    id: str
    name: str
    severity: Severity
    text: str | CodeFile

    @property
    def doc(self) -> str:
        """Markdown under four fixed headings, which `hpplan explain` prints.

        They are `## What it finds`, `## Why it hurts`, `## Example`, `## What to do`.
        """
        return self.text if isinstance(self.text, str) else self.text.text(self)

    @property
    def summary(self) -> str:
        """The first sentence of `doc`, which says what the code finds."""
        text = " ".join(self.doc.partition("\n")[2].split())
        return text[: text.find(". ") + 1] or text


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a document: the document's name and the path to the node.

    `on_key` points at the mapping key instead of its value. `position` is set
    only where there is no path to a node, as in text that does not parse.
    `note` says what a related place has to do with the finding.
    """

    document: str
    path: Path = ()
    on_key: bool = False
    position: Position | None = None
    note: str = ""

    def at(self, *keys: str | int) -> Place:
        """Return the place of a node below this one."""
        return Place(self.document, (*self.path, *keys))

    def key(self, *keys: str | int) -> Place:
        """Return the place of a mapping key below this node."""
        return Place(self.document, (*self.path, *keys), on_key=True)

    def noted(self, note: str) -> Place:
        """Return this place with what it has to do with a finding, which it is related to."""
        return replace(self, note=note)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and the way out."""

    code: Code
    message: str
    place: Place
    hint: str | None = None
    related: tuple[Place, ...] = ()
    severity: Severity | None = None
    """Overrides the severity of the code, as `--strict` does."""

    def __post_init__(self) -> None:
        """Cut the middle out of a message or hint that quotes a text of any length."""
        for name in ("message", "hint"):
            text = getattr(self, name)
            if text is not None and len(text) > _LONGEST:
                object.__setattr__(self, name, f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}")

    @property
    def level(self) -> Severity:
        """The severity in force."""
        return self.severity or self.code.severity


def by_level(findings: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Return the errors, and the others, each in their order."""
    errors: list[Diagnostic] = []
    others: list[Diagnostic] = []
    for finding in findings:
        (errors if finding.level == "error" else others).append(finding)
    return errors, others


def as_errors(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return findings with the warnings among them as errors."""
    return [
        replace(finding, severity="error") if finding.level == "warning" else finding for finding in findings
    ]


def show_path(path: Path) -> str:
    """Spell a path the way messages do: `param_plan.'a.b'.in_src`, `rules[0]`.

    >>> show_path(("param_plan", "model.norm", "params", 0))
    "param_plan.'model.norm'.params[0]"
    """
    spelled = ""
    for key in path:
        if isinstance(key, int):
            spelled += f"[{key}]"
        else:
            name = key if key.isidentifier() else f"'{key}'"
            spelled += f".{name}" if spelled else name
    return spelled
