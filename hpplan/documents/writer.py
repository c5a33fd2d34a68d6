"""Data to canonical text: the same data gives the same bytes, whatever the order of its keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hpplan.diagnostics import Diagnostic, Path, Place
from hpplan.documents.codes import NON_FINITE_NUMBER
from hpplan.documents.natural import natural_key
from hpplan.documents.spelling import Spellings, spell_float, unwritable
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from hpplan.documents.scalars import Data

KeyOrder = Mapping[tuple[str, ...], tuple[str, ...]]
"""Path pattern (`*` is any key or list index) -> the fields that come first, in this order."""

WIDTH: Final = 100
"""Columns up to which a list or mapping may stand in one line."""

_CONSTANTS: Final = {None: "null", True: "true", False: "false"}

_MOST_IN_A_LINE: Final = WIDTH // 3
"""Members beyond which a line cannot hold them: each takes three columns at least."""

_LONGEST_PLAIN_KEY: Final = 1000
"""A key longer than this needs `? `: YAML looks for its `:` within 1,024 characters."""


def dump_yaml(data: Data, key_order: KeyOrder = MappingProxyType({}), header: str = "") -> str:
    """Return `data` (dicts with string keys, lists and scalars) as YAML, after the comment lines of `header`.

    Fields stand in the order that `key_order` gives for their mapping's path;
    all other keys follow in natural order. No line is ever folded.

    A list or mapping is written in one line, `{cp: R, tp: S(0)}`, where that
    line ends by column 100, `key_order` names no fields for it, and
    - it is a list of scalars below the top, or
    - it holds only scalars, two or more keys below the top, or
    - it holds one such list or mapping at most, three or more keys below it.

    Raises InvalidInput for a text that no file can hold.
    """
    return header + _YamlWriter().document(data, _Order(key_order))


def dump_json(data: Data, place: Place | None = None) -> str:
    """Return `data` as JSON with indent 2, sorted keys and a newline at the end.

    Raises InvalidInput for numbers that JSON does not have and for texts that
    no file can hold. `place` says where the data was read from.
    """
    import json

    try:
        text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InvalidInput(_not_json(data, place or Place("<output>"))) from None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise unwritable() from None
    return text + "\n"


def _not_json(data: Data, place: Place) -> Iterator[Diagnostic]:
    if isinstance(data, float) and not isfinite(data):
        yield Diagnostic(
            NON_FINITE_NUMBER, f"JSON has no number {spell_float(data)}", place, "write YAML instead"
        )
    elif isinstance(data, (dict, list, tuple)):
        members = data.items() if isinstance(data, dict) else enumerate(data)
        for key, member in members:
            yield from _not_json(member, place.at(key))


class CanonicalMembers:
    """Members of mappings as they stand in canonical YAML, for where only some of them are written."""

    def __init__(self, key_order: KeyOrder) -> None:
        """Start with the order of keys as `dump_yaml` takes it."""
        self._order = _Order(key_order)
        self._writer = _YamlWriter()

    def keys(self, path: Path, mapping: dict[str, Data]) -> list[str]:
        """Return the keys of the mapping at a path in the order in which they are written."""
        return self._below(path).keys(mapping)

    def lines(self, path: Path, key: str, value: Data, pad: str) -> list[str]:
        """Return the lines of one member of the mapping at a path, each behind `pad`."""
        lines = self._writer.lines = []
        self._writer.block({key: value}, pad, len(path), self._below(path))
        return lines

    def scalar(self, value: Data) -> str:
        """Spell a scalar or an empty collection."""
        return self._writer.scalar(value)

    def _below(self, path: Path) -> _Order:
        order = self._order
        for key in path:
            order = order.below(key) if isinstance(key, str) else order.other
        return order


class _Order:
    """The order of keys of the mappings that a set of patterns leads to."""

    def __init__(self, patterns: KeyOrder) -> None:
        self.fields = patterns.get((), ())
        longer = [pattern for pattern in patterns if pattern]
        self.other = self._chosen(patterns, longer, {"*"}) if patterns else self
        self.named = {
            pattern[0]: self._chosen(patterns, longer, {pattern[0], "*"})
            for pattern in longer
            if pattern[0] != "*"
        }
        self.known: dict[tuple[str, ...], list[str]] = {}

    @staticmethod
    def _chosen(patterns: KeyOrder, longer: list[tuple[str, ...]], first: set[str]) -> _Order:
        # The pattern that names the key comes last, so that its fields win over those of `*`.
        chosen = sorted(
            (pattern for pattern in longer if pattern[0] in first), key=lambda pattern: pattern[0] != "*"
        )
        return _Order({pattern[1:]: patterns[pattern] for pattern in chosen})

    def below(self, key: str) -> _Order:
        """Return the order of what is below a key."""
        return self.named.get(key, self.other)

    def keys(self, mapping: dict[str, Data]) -> list[str]:
        """Return the keys of a mapping in the order in which they are written."""
        order = tuple(mapping)
        keys = self.known.get(order)
        if keys is None:
            first = [key for key in self.fields if key in mapping]
            keys = self.known[order] = first + sorted(mapping.keys() - first, key=natural_key)
        return keys


class _YamlWriter:
    """Collects the lines of one YAML document."""

    def __init__(self) -> None:
        self.spell = Spellings()
        self.lines: list[str] = []
        self.spellers: dict[type, Callable[[Data], str]] = {
            str: self.spell.__getitem__,
            int: str,
            float: spell_float,
            bool: _CONSTANTS.__getitem__,
            type(None): _CONSTANTS.__getitem__,
            dict: lambda _: "{}",
            list: lambda _: "[]",
            tuple: lambda _: "[]",
        }

    def document(self, data: Data, order: _Order) -> str:
        if isinstance(data, (dict, list, tuple)) and data:
            self.block(data, "", 0, order)
        else:
            self.lines.append(self.scalar(data))
        self.lines.append("")
        return "\n".join(self.lines)

    def block(self, value: Data, pad: str, depth: int, order: _Order, lead: str | None = None) -> None:
        """Write the members of a list or mapping, one a line or more; `lead` starts the first of them."""
        lines = self.lines
        lead = pad if lead is None else lead
        if not isinstance(value, dict):
            for member in value:
                self.member(f"{lead}-", member, pad, depth + 1, order.other, is_item=True)
                lead = pad
            return
        spell = self.spell
        for key in order.keys(value):
            name = spell[key]
            member = value[key]
            if len(name) > _LONGEST_PLAIN_KEY:
                lines.append(f"{lead}? {name}")
                self.member(f"{pad}:", member, pad, depth + 1, order.below(key))
            elif type(member) is str:
                lines.append(f"{lead}{name}: {spell[member]}")
            else:
                self.member(f"{lead}{name}:", member, pad, depth + 1, order.below(key))
            lead = pad

    def member(
        self, head: str, value: Data, pad: str, depth: int, order: _Order, *, is_item: bool = False
    ) -> None:
        """Write one member behind `head`, its key or dash."""
        if not value or not isinstance(value, (dict, list, tuple)):
            self.lines.append(f"{head} {self.scalar(value)}")
            return
        is_record = bool(order.fields) and isinstance(value, dict)
        if not is_record and (depth >= 2 or not isinstance(value, dict)):  # noqa: PLR2004 - see dump_yaml
            text = self.flow(value, 1 if depth > 2 else 0, order)  # noqa: PLR2004 - see dump_yaml
            if text is not None and len(head) + 1 + len(text) <= WIDTH:
                self.lines.append(f"{head} {text}")
                return
        if is_item:
            self.block(value, pad + "  ", depth, order, lead=f"{head} ")
        else:
            self.lines.append(head)
            self.block(value, pad + "  ", depth, order)

    def flow(self, value: Data, collections: int, order: _Order) -> str | None:
        """Spell a list or mapping in one line, unless it is too long or holds more than `collections`."""
        if len(value) > _MOST_IN_A_LINE:
            return None
        spell = self.spell
        is_mapping = isinstance(value, dict)
        parts: list[str] = []
        for key in order.keys(value) if is_mapping else value:
            member = value[key] if is_mapping else key
            if type(member) is str:
                text: str | None = spell[member]
            elif not member or not isinstance(member, (dict, list, tuple)):
                text = self.scalar(member)
            elif collections:
                collections -= 1
                text = self.flow(member, 1, order.below(key) if is_mapping else order.other)
                if text is None:
                    return None
            else:
                return None
            parts.append(f"{spell[key]}: {text}" if is_mapping else str(text))
        joined = ", ".join(parts)
        return f"{{{joined}}}" if is_mapping else f"[{joined}]"

    def scalar(self, value: Data) -> str:
        """Spell a scalar or an empty collection."""
        return self.spellers[type(value)](value)
