"""Data and its text: YAML and JSON in many spellings, and texts with damage."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fuzz_values import PIECES

from hpplan.documents.writer import dump_yaml
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from random import Random

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_LONGEST = 400_000


def spelled(random: Random, data: Any) -> bytes:  # noqa: ANN401 - any document
    """Return a document as bytes, in YAML or JSON, with damage now and then."""
    spell = random.choice([_json, _json, _with_commas, _canonical, _flow, _flow, _block])
    try:
        text = spell(random, data)
    except (RecursionError, ValueError):  # too deep, or a number of too many digits
        text = '{"a": ' * 500
    if random.random() < 0.12:
        for _ in range(random.randint(1, 3)):
            text = damaged(random, text)
    if random.random() < 0.1:
        text = text.replace("\n", random.choice(["\r\n", "\r", "\n\n", "\n# c\n"]))
    if random.random() < 0.05:
        first = ["\ufeff", "\n", "# c\n", "---\n", "%YAML 1.2\n---\n", "--- ", "\ufeff# c\n"]
        first += [f"# yaml-language-server: $schema={name}\n" for name in ("../x", "\u202e", "y" * 3000)]
        text = random.choice(first) + text
    raw = text[:_LONGEST].encode("utf-8", "surrogatepass" if random.random() < 0.5 else "replace")
    if random.random() < 0.02:
        at = random.randint(0, len(raw))
        raw = random.choice([raw[:at] + b"\xff" + raw[at:], text.encode("utf-16", "replace"), raw[:at], b""])
    return raw


def damaged(random: Random, text: str) -> str:
    """Return a text with a piece removed, doubled or put in."""
    at = random.randint(0, len(text))
    length = random.choice([1, 1, 2, 5, 20, 200])
    kind = random.random()
    if kind < 0.3:
        return text[:at] + text[at + length :]
    if kind < 0.4:
        return text[: at + length] + text[at:]
    if kind < 0.5:
        return text[:at]
    return text[:at] + random.choice(PIECES) + text[at:]


def _json(random: Random, data: Any) -> str:  # noqa: ANN401 - any document
    indent = random.choice([None, None, 1, 2])
    return json.dumps(data, indent=indent, ensure_ascii=random.random() < 0.5)


def _with_commas(random: Random, data: Any) -> str:  # noqa: ANN401 - any document
    return re.sub(r"(?<=[^\[{\s])(?=\s*[\]}])", lambda _: random.choice(["", "", ","]), _json(random, data))


def _canonical(random: Random, data: Any) -> str:  # noqa: ANN401 - any document
    try:
        return dump_yaml(data)
    except InvalidInput:
        return _json(random, data)


def _flow(random: Random, data: Any) -> str:  # noqa: ANN401 - any document
    """Spell with brackets, and nodes that are shared as anchors and aliases, with tags and merges."""
    names: dict[int, str] = {}
    odd = 0.03 if random.random() < 0.1 else 0.0
    shared = _shared(data)

    def spell(node: Any, depth: int) -> str:  # noqa: ANN401 - any node
        if isinstance(node, str):
            return node if _PLAIN.fullmatch(node) and random.random() < 0.7 else json.dumps(node)
        if not isinstance(node, dict | list):
            special = {float("inf"): ".inf", float("-inf"): "-.inf"}
            is_nan = isinstance(node, float) and node != node  # noqa: PLR0124 - only NaN differs from itself
            return ".nan" if is_nan else special.get(node) or json.dumps(node)
        if id(node) in names:
            return f"*{names[id(node)]} "
        anchor = ""
        if id(node) in shared or random.random() < 0.01:
            names[id(node)] = f"a{len(names)}"
            anchor = f"&{names[id(node)]} "
        if random.random() < odd:
            anchor += random.choice(["!!map ", "!!seq ", "!!str ", "! ", "!x "])
        if isinstance(node, list):
            return f"{anchor}[{', '.join(spell(one, depth + 1) for one in node)}]"
        merge = random.random() < 2 * odd and bool(names)
        parts = [f"<<: *{random.choice([*names.values()])} "] if merge else []
        parts += (f"{_key(random, key)}: {spell(value, depth + 1)}" for key, value in node.items())
        separator = ",\n" if depth < 2 else ", "
        return f"{anchor}{{{separator.join(parts)}}}"

    return spell(data, 0)


def _key(random: Random, key: str) -> str:
    if key.isdecimal() and random.random() < 0.5:
        return key
    return key if _PLAIN.fullmatch(key) and random.random() < 0.7 else f"? {json.dumps(key)} "


def _block(random: Random, data: Any) -> str:  # noqa: ANN401 - any document
    """Spell the top with a line for each field, some of them twice, and the rest in brackets."""
    if not isinstance(data, dict):
        return _flow(random, data)
    lines = [f"{json.dumps(key)}: {_flow(random, value)}" for key, value in data.items() if len(key) < 900]
    if lines and random.random() < 0.1:
        lines.append(random.choice(lines))
    random.shuffle(lines)
    return "\n".join(line + random.choice(["", "", "", "  # c"]) for line in lines) + "\n"


def _shared(data: Any) -> set[int]:  # noqa: ANN401 - any document
    """Return the ids of lists and mappings that are in several places."""
    seen: set[int] = set()
    found: set[int] = set()
    level = [data] if isinstance(data, dict | list) else []
    while level:
        below: list[Any] = []
        for node in level:
            if id(node) in seen:
                found.add(id(node))
                continue
            seen.add(id(node))
            members = node.values() if isinstance(node, dict) else node
            below += [one for one in members if isinstance(one, dict | list)]
        level = below
    return found
