"""Plans in the layouts that people give them, and which lines and comments an edit must leave alone.

Block and flow style, mixed; comments, quotes, blank lines, anchors, aliases and
merges; JSON as several programs indent it; line breaks and byte order marks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.documents.spelling import spell_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Path = tuple[str | int, ...]
Claim = tuple[str, Path]
"""What must hold for a line or comment to stay.

At a path: `kept`, there is a value; `same`, it is the same; `within`, it is a
mapping or a list of the same length again; `open`, it has members too.
"""

FQNS = ["l.0", "l.0.mlp", "l.0.mlp.experts.0", "l.1.mlp", "l.1.mlp.shared_experts", "model.norm", "no", "é"]
PLACEMENTS = ["R", "S(0)", "S(-1)", "SS(0,2)", "P(sum)"]
SCALARS = [
    True,
    False,
    None,
    0,
    7,
    -1.5,
    "",
    "x",
    "no",
    "1:30",
    "a b",
    "a: b",
    "#x",
    "a #b",
    "*x",
    "it's",
    "\t",
]
TEXTS = ["one\ntwo\n", "one\n\ntwo", "  one\n two\n", "one\n\n", "# none\nx\n"]


class Laid(NamedTuple):
    """A document's bytes as lines, and what has to hold for a line, or a comment in one, to stay."""

    raw: bytes
    lines: list[tuple[str, list[Claim]]]
    comments: list[tuple[str, list[Claim]]]
    as_json: Callable[[Any], str] | None = None


class Maker:
    """Makes plans, layouts for them, and changes to them."""

    def __init__(self, random: Random, *, shared: bool = False) -> None:
        """Start; `shared` layouts have anchors, aliases and merges."""
        self.random = random
        self.shared = shared
        self._anchors: list[tuple[str, Any]] = []
        self._named = 0
        self._lines: list[tuple[str, list[Claim]]] = []
        self._comments: list[tuple[str, list[Claim]]] = []

    # Data

    def plan(self) -> dict[str, Any]:
        """Return a plan, with fields that hpplan does not know."""
        fqns = self.random.sample(FQNS, self.random.randint(0, 5))
        plan = {
            "boundary_classes": {fqn: self.random.choice(["A", "B"]) for fqn in fqns},
            "param_plan": {fqn: self._entry() for fqn in self.random.sample(FQNS, self.random.randint(1, 5))},
            **{name: self.value() for name in self.random.sample(["x", "yes", "z.z", "k" * 140], 2)},
        }
        if self._chance(0.3):
            plan["injections"] = [{"match": "*", "fn": {"_target_": "a.b"}} for _ in range(2)]
        names = list(plan)
        self.random.shuffle(names)
        return {name: plan[name] for name in names}

    def value(self, depth: int = 0) -> Any:  # noqa: ANN401 - any data
        """Return anything."""
        kind = self.random.random()
        if depth > 2 or kind < 0.5:
            return self.random.choice(SCALARS if self._chance(0.9) else TEXTS)
        members = [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]
        return members if kind < 0.7 else dict(zip("abc", members, strict=False))

    def _entry(self) -> dict[str, Any]:
        fields = ["params", "in_src", "out_dst"]
        entry: dict[str, Any] = {
            field: {"w": {axis: self.random.choice(PLACEMENTS) for axis in ("tp", "cp")}}
            for field in self.random.sample(fields, self.random.randint(0, 2))
        }
        if self._chance(0.7):
            entry["is_boundary"] = self._chance(0.7)
        return entry

    def changed(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data with a few changes."""
        new = json.loads(json.dumps(data))
        for _ in range(self.random.randint(1, 4)):
            self._change(new)
        return dict(new)

    def _change(self, node: Any) -> None:  # noqa: ANN401 - any data
        while True:
            members = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
            below = [member for _, member in members if isinstance(member, (dict, list))]
            if not below or self._chance(0.3):
                break
            node = self.random.choice(below)
        what = self.random.random()
        if members and what < 0.35:
            del node[self.random.choice(members)[0]]
        elif members and what < 0.65:
            node[self.random.choice(members)[0]] = self.value()
        elif what < 0.7:
            node.clear()
        elif isinstance(node, dict):
            node[self.random.choice(["skip_source_lowering", "new", "on", "a", "m" * 130])] = self.value()
        else:
            node.append(self.value())

    # Layouts

    def json_layout(self, data: dict[str, Any]) -> Laid:
        """Lay data out as JSON; `as_json` lays out other data alike."""
        indent = self.random.choice([None, None, 1, 2, 4, "\t"])
        separators = self.random.choice([None, (",", ":")]) if indent is None else None
        is_sorted = self._chance(0.5)
        # Only in the order of their keys do the same data have several layouts of a kind.
        data = json.loads(json.dumps(data, sort_keys=is_sorted))

        def as_json(other: Any) -> str:  # noqa: ANN401 - any data
            return json.dumps(other, indent=indent, separators=separators, ensure_ascii=False)

        return Laid(self._raw(as_json(data).split("\n")), [], [], as_json)

    def yaml_layout(self, data: dict[str, Any]) -> Laid:
        """Lay data out as YAML."""
        self._lines, self._comments, self._anchors = [], [], []
        if self._chance(0.3):
            self._between("", ())
        if self._chance(0.2):
            self._line("---", [])
        if self._chance(0.15):
            for line in self._flow(data, (), "").split("\n"):
                self._line(line, [("same", ())])
        else:
            self._block(data, (), "")
        self._between("", ())
        if self._chance(0.1):
            self._line("...", [])
            self._between("", ())
        return Laid(self._raw([line for line, _ in self._lines]), self._lines, self._comments)

    def _raw(self, lines: list[str]) -> bytes:
        line_break = "\r\n" if self._chance(0.2) else "\n"
        # A block scalar at the end would lose its line break.
        ends = self._chance(0.8) or "|" in " ".join(lines[-6:])
        text = line_break.join(lines) + (line_break if ends else "")
        return (b"\xef\xbb\xbf" if self._chance(0.1) else b"") + text.encode()

    def _line(self, text: str, claims: list[Claim]) -> None:
        self._lines.append((text, claims))

    def _between(self, pad: str, path: Path, chance: float = 0.15) -> None:
        """Perhaps add comments and blank lines, in the mapping or list at a path."""
        while self._chance(chance):
            if self._lines and not self._lines[-1][0]:
                # One more empty line would belong to a block scalar that keeps them.
                return
            if self._chance(0.3):
                self._line(self.random.choice(["", "", pad]), [("within", path)])
            else:
                margin = self.random.choice([pad, pad, pad, f"{pad}  ", ""])
                claim: Claim = ("within", path)
                self._line(f"{margin}{self._comment([claim])}", [claim])

    def _comment(self, claims: list[Claim]) -> str:
        comment = f"# comment {len(self._comments)}: it's {{[<<&*\"|"
        self._comments.append((comment, claims))
        return comment

    def _trailing(self, claims: list[Claim]) -> str:
        if not self._chance(0.2):
            return ""
        return f"{self.random.choice([' ', '  '])}{self._comment(claims)}"

    def _block(self, data: dict[str, Any], path: Path, pad: str, lead: str | None = None) -> None:
        """Add the lines of a mapping with members; `lead` starts the first of them."""
        before: list[Claim] = []
        written = len(self._lines)
        members = self._merged(data, pad if lead is None else lead)
        if len(self._lines) > written:
            lead, before = None, [("same", path)]
        for key, value in members:
            if lead is None:
                self._between(pad, path)
            here = (*path, key)
            question = self._chance(0.03) or len(key) > 120
            name = f"? {self._spell(key, is_key=True)}" if question else self._spell(key, is_key=True)
            head = f"{pad if lead is None else lead}{name}"
            if question:
                # The canonical form may have no `?` where a member is written anew.
                self._line(head, [("same", here), *before])
                head = f"{pad}"
            self._member(f"{head}:", value, here, pad, before)
            if lead is not None:
                # Where the first member goes, the next one takes its place behind the dash.
                before.append(("kept", here))
                lead = None

    def _merged(self, data: dict[str, Any], lead: str) -> list[tuple[str, Any]]:
        """Perhaps add a merge key, and return the members that it does not bring in."""
        members = list(data.items())
        if not self.shared or not self._chance(0.4):
            return members
        for name, brought in self._anchors:
            if isinstance(brought, dict) and brought and json.dumps({**data, **brought}) == json.dumps(data):
                self._line(f"{lead}<<: *{name}", [("same", ())])
                return [(key, value) for key, value in members if key not in brought or self._chance(0.2)]
        return members

    def _member(self, head: str, value: Any, path: Path, pad: str, before: list[Claim]) -> None:  # noqa: ANN401
        """Add the lines of a member behind `head`, its key or dash."""
        alias = self._alias(value)
        if alias:
            self._line(f"{head} {alias}{self._trailing([('kept', path)])}", [("same", ())])
            return
        is_item = head.endswith("-")
        if self.shared and self._chance(0.3):
            # An alias may stand for it that has to change.
            self._named += 1
            name = f"a{self._named}"
            self._value(f"{head} &{name}", value, path, pad, [("same", ())], is_item=is_item)
            self._anchors.append((name, value))
        else:
            self._value(head, value, path, pad, before, is_item=is_item)

    def _value(
        self,
        head: str,
        value: Any,  # noqa: ANN401 - any data
        path: Path,
        pad: str,
        before: list[Claim],
        *,
        is_item: bool,
    ) -> None:
        kept: Claim = ("within" if is_item else "kept", path)
        same: list[Claim] = [("same", path), *before]
        if isinstance(value, str) and "\n" in value and not value.startswith(" ") and self._chance(0.7):
            self._text(head, value, pad, same)
        elif not isinstance(value, (dict, list)) or not value or self._chance(0.25):
            lines = self._flow(value, path, f"{pad}  ").split("\n")
            if value is None and head.endswith((":", "-")) and self._chance(0.3):
                lines = [""]
            lines[0] = f"{head} {lines[0]}".rstrip(" ")
            lines[-1] += self._trailing([("kept", path)])
            for line in lines:
                self._line(line, same)
        elif isinstance(value, dict) and head.endswith("-") and self._chance(0.8):
            self._block(value, path, f"{pad}  ", f"{head} ")
        else:
            self._line(f"{head}{self._trailing([kept])}", [("open", path), *before])
            if isinstance(value, dict):
                self._block(value, path, pad + " " * self.random.choice([1, 2, 2, 2, 4]))
                return
            inner = pad + ("  " if is_item else self.random.choice(["", "  ", "  "]))
            for index, item in enumerate(value):
                self._between(inner, path)
                self._member(f"{inner}-", item, (*path, index), inner, [])

    def _text(self, head: str, value: str, pad: str, same: list[Claim]) -> None:
        """Add a block scalar."""
        body = value.rstrip("\n")
        ends = len(value) - len(body)
        self._line(f"{head} |{'-' if not ends else '+' if ends > 1 else ''}", same)
        for line in (*body.split("\n"), *[""] * (ends - 1)):
            self._line(f"{pad}   {line}" if line else "", same)

    def _alias(self, value: Any) -> str:  # noqa: ANN401 - any data
        if self.shared and self._chance(0.5):
            names = [name for name, known in self._anchors if json.dumps(known) == json.dumps(value)]
            if names:
                return f"*{self.random.choice(names)}"
        return ""

    def _flow(self, value: Any, path: Path, pad: str) -> str:  # noqa: ANN401 - any data
        """Spell a value in flow style, in one line or in several."""
        if not isinstance(value, (dict, list)) or not value:
            return self._spell(value)
        if isinstance(value, dict):
            members = [
                (
                    self._spell(key, is_key=True) + ": " + self._flow(member, (*path, key), f"{pad}  "),
                    (*path, key),
                )
                for key, member in value.items()
            ]
        else:
            members = [
                (self._flow(member, (*path, index), f"{pad}  "), (*path, index))
                for index, member in enumerate(value)
            ]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        comma = self.random.choice([",", ""])
        if self._chance(0.3):
            text = opening + "\n"
            for index, (member, here) in enumerate(members):
                mark = "," if index < len(members) - 1 else comma
                text += f"{pad}{member}{mark}{self._trailing([('kept', here)])}\n"
                if self._chance(0.1):
                    text += f"{pad}{self._comment([('within', path)])}\n"
            return f"{text}{pad}{closing}"
        blank = self.random.choice(["", "", " "])
        joined = ", ".join(member for member, _ in members) + (comma if blank else "")
        return f"{opening}{blank}{joined}{blank}{closing}"

    def _spell(self, value: Any, *, is_key: bool = False) -> str:  # noqa: ANN401 - any data
        if not isinstance(value, str):
            return json.dumps(value)
        spelled = spell_text(value)
        if "'" not in value and value.isprintable() and self._chance(0.2):
            return f"'{value}'"
        if value.isprintable() and self._chance(0.2):
            return json.dumps(value, ensure_ascii=False)
        plain = not is_key and spelled == value and " " in value
        return value.replace(" ", "\n         ") if plain and self._chance(0.05) else spelled

    def _chance(self, chance: float) -> bool:
        return self.random.random() < chance
