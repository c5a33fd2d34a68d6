"""YAML text to data, built from the parser's event stream in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from hpplan.diagnostics import Code, Diagnostic, Path, Place
from hpplan.documents import codes
from hpplan.documents.collector import collector_paused
from hpplan.documents.limits import MAX_COPIED, MAX_COPIES, MAX_DEPTH, MAX_NODES, NUMBERED
from hpplan.documents.scalars import Data, PlainScalars
from hpplan.documents.source import Source
from hpplan.documents.yaml_text.faults import check_printable, gave_up_on_depth, syntax_failure
from hpplan.documents.yaml_text.parser import Event, open_parser
from hpplan.documents.yaml_text.tags import TOO_LARGE, Problem, collection_problem, tagged_scalar
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    Loops = tuple[Callable[[Event, int, bool], dict[str, Data]], Callable[[Event, int], list[Data]]]

Key = Any
"""A string, `_Merge`, or for a key that is not allowed anything at all."""

_AROUND_A_MEMBER = 8
"""Quotes of key and value, colon, blank, comma and line break."""

_VERSIONS = (None, (1, 1), (1, 2))


class _StopError(Exception):
    """What was found makes it pointless to read on."""


class _Merge:
    """Stands for the merge key `<<` among the keys of a mapping."""


class _MergeEvent:
    """Stands for where a mapping's merge key is."""


class _Broken:
    """Stands for the node of an alias that was reported already."""


class _Anchored:
    """What an anchor at some depth stands for; `ready` once its node has ended."""

    __slots__ = ("depth", "height", "ready", "size", "value", "written")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.ready = False
        self.value: Any = None
        self.size = 1
        self.height = 0
        self.written = 0


def load_yaml(source: Source) -> Data:
    """Return the data of a YAML document.

    An alias gives the very object that its anchor gave. Raises InvalidInput
    with everything that was found up to the first fault in the syntax.
    """
    check_printable(source)
    builder, data = _built(source)
    if builder.findings or builder.duplicates or builder.plain.too_large:
        duplicates = _duplicates(source, builder.duplicates)
        raise InvalidInput([*builder.findings, *duplicates, *_too_large(source, builder.plain.too_large)])
    return data


def _built(source: Source, *, slow: bool = False) -> tuple[_Builder, Data]:
    """Return a builder that has done what it can, and the data of the document."""
    builder = _Builder(source, slow=slow)
    data: Data = None
    try:
        with collector_paused():
            data = builder.document()
    except YAMLError as error:
        if gave_up_on_depth(error) and not slow:
            return _built(source, slow=True)
        builder.findings.append(syntax_failure(source, error))
    except _StopError:
        pass
    return builder, data


def _duplicates(source: Source, repeated: set[int]) -> Iterator[Diagnostic]:
    """Yield a finding for each key that was found a second time, by where it is in the text."""
    if repeated:
        from hpplan.documents.visits import visits
        from hpplan.documents.yaml_text.tokens import yaml_tokens

        for visit in visits(yaml_tokens(source.text)):
            if visit.start in repeated and visit.first is not None:
                yield visit.duplicate(source)


def _too_large(source: Source, spelled: set[str]) -> Iterator[Diagnostic]:
    """Yield the numbers that are too large, which the first pass only noticed."""
    get_event: Callable[[], Event] = open_parser(source.text).get_event
    with suppress(YAMLError):
        while spelled and (kind := type(event := get_event())) is not StreamEndEvent:
            if kind is ScalarEvent and event.value in spelled and not event.style and not event.tag:
                code, message, hint = TOO_LARGE
                place = Place(source.name, position=source.position(event.start_mark.index))
                yield Diagnostic(code, message, place, hint)


class _Builder:
    """Builds the data of one document.

    The loops for mappings and lists are most of the time that a load takes,
    so they are closures over local names, and leave everything that a plan
    seldom has (anchors, tags, merges, odd keys) to methods.
    """

    def __init__(self, source: Source, *, slow: bool = False) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.duplicates: set[int] = set()
        self.plain = PlainScalars()
        self.anchors: dict[str, _Anchored] = {}
        self.path: list[Any] = []
        self.nodes = 0
        self.written = 0
        """About the characters of what was built so far, a member a line; not counted without anchors."""
        self.copied = 0
        """Those of them that aliases stand for."""
        self.deepest = 0
        # Without these characters there are neither anchors nor tags, and nobody needs to look for them.
        self.decorated = "&" in source.text or "!" in source.text
        self.get_event = open_parser(source.text, slow=slow).get_event
        self.mapping, self.sequence = self._loops()

    def document(self) -> Data:
        get_event = self.get_event
        get_event()
        event = get_event()
        if type(event) is not DocumentStartEvent:
            self.report(codes.EMPTY_DOCUMENT, "the document is empty", event, at=0)
            raise _StopError
        if event.version not in _VERSIONS:
            self.report(codes.YAML_SYNTAX, "a version of YAML that does not exist", event)
        event = get_event()
        if type(event) is ScalarEvent and not event.value and not event.style and event.tag is None:
            self.report(codes.EMPTY_DOCUMENT, "the document is empty", event, at=0)
        elif type(event) is not MappingStartEvent:
            what = "a list" if type(event) is SequenceStartEvent else "a single value"
            self.report(
                codes.NOT_A_MAPPING,
                f"the document is {what}, not a mapping of fields",
                event,
                hint="check that the right file was named",
            )
        data = self.node(event, type(event), 0)
        get_event()
        event = get_event()
        if type(event) is not StreamEndEvent:
            self.report(
                codes.SEVERAL_DOCUMENTS,
                "a second document starts here",
                event,
                hint="give each document a file of its own",
            )
        return data

    def report(
        self, code: Code, message: str, event: Event, *, hint: str | None = None, at: int | None = None
    ) -> None:
        index = event.start_mark.index if at is None else at
        place = Place(self.source.name, self.named_path(), position=self.source.position(index))
        self.findings.append(Diagnostic(code, message, place, hint))

    def named_path(self) -> Path:
        """Return where the builder is; a key that is not allowed has no name there."""
        return tuple(key if isinstance(key, (str, int)) else "?" for key in self.path)

    def node(self, event: Event, kind: type, depth: int, numbered: bool = False) -> Data:  # noqa: FBT002 - on the hot path
        """Build any node from its first event; `depth` is that of its parent."""
        if kind is ScalarEvent:
            return self.scalar(event, depth)
        if kind is AliasEvent:
            return self.alias(event, depth)
        if self.decorated and (event.anchor is not None or event.tag is not None):
            return self.decorated_collection(event, kind, depth, numbered)
        if kind is MappingStartEvent:
            return self.mapping(event, depth + 1, numbered)
        return self.sequence(event, depth + 1)

    def _loops(self) -> Loops:  # noqa: C901, PLR0915 - the two hot loops share their local names
        get_event = self.get_event
        plain = self.plain
        plain_keys: dict[str, Any] = _PlainKeys(plain)
        path = self.path
        decorated = self.decorated
        node = self.node

        def mapping(start: Event, depth: int, numbered: bool) -> dict[str, Any]:
            if depth > self.deepest:
                self.deeper(start, depth)
            data: dict[Any, Any] = {}
            odd = False
            while True:
                event = key_event = get_event()
                kind = type(event)
                if kind is ScalarEvent and not decorated:
                    key = event.value if event.style else plain_keys[event.value]
                elif kind is MappingEndEvent:
                    break
                else:
                    key = self.any_key(event, kind, depth)
                if type(key) is not str:
                    key = self.odd_key(key, event, numbered, data)
                    odd = True
                event = get_event()
                kind = type(event)
                if kind is ScalarEvent and not decorated:
                    value = event.value if event.style else plain[event.value]
                else:
                    path.append(key)
                    value = node(event, kind, depth, key in NUMBERED)
                    path.pop()
                if key in data:
                    self.duplicates.add(key_event.start_mark.index)
                data[key] = value
            if odd:
                data = self.without_odd_keys(data)
            self.nodes += len(data)
            if decorated:
                self.written += (len(data) + 1) * (2 * depth + _AROUND_A_MEMBER)
            return data

        def sequence(start: Event, depth: int) -> list[Any]:
            if depth > self.deepest:
                self.deeper(start, depth)
            data: list[Any] = []
            while True:
                event = get_event()
                kind = type(event)
                if kind is ScalarEvent and not decorated:
                    data.append(event.value if event.style else plain[event.value])
                elif kind is SequenceEndEvent:
                    break
                else:
                    path.append(len(data))
                    data.append(node(event, kind, depth))
                    path.pop()
            self.nodes += len(data)
            if decorated:
                self.written += (len(data) + 1) * (2 * depth + _AROUND_A_MEMBER)
            return data

        return mapping, sequence

    def deeper(self, start: Event, depth: int) -> None:
        self.deepest = depth
        if depth > MAX_DEPTH:
            self.too_deep(start)

    def too_deep(self, event: Event) -> NoReturn:
        place = Place(self.source.name, position=self.source.position(event.start_mark.index))
        self.findings.append(
            Diagnostic(codes.TOO_DEEP, f"lists and mappings nested deeper than {MAX_DEPTH} levels", place)
        )
        raise _StopError

    def any_key(self, event: Event, kind: type, depth: int) -> Key:
        """Build a key that may be anything; a merge key gives `_Merge`."""
        if kind is ScalarEvent and event.value == "<<" and not event.style and event.tag is None:
            return _Merge
        self.path.append("")
        key = self.node(event, kind, depth)
        self.path.pop()
        return key

    def odd_key(self, key: Key, event: Event, numbered: bool, data: dict[Any, Any]) -> Key:
        """Return what to file a key under that is no string: an object of its own unless it is allowed."""
        if key is _Merge:
            data.setdefault(_MergeEvent, event)
            return key
        if key is _Broken:
            return object()
        if numbered and type(key) is int:
            return str(key)
        kinds = {bool: "a boolean", type(None): "null", int: "a number", float: "a number", list: "a list"}
        what = kinds.get(type(key), "a mapping")
        quotable = type(event) is ScalarEvent and event.tag is None
        hint = f'put it in quotes: "{event.value}"' if quotable and event.value else None
        self.report(codes.NON_STRING_KEY, f"a key must be a string; this one is {what}", event, hint=hint)
        return object()

    def without_odd_keys(self, data: dict[Any, Any]) -> dict[str, Any]:
        """Drop keys that are no strings and fill in what is merged."""
        kept = {key: value for key, value in data.items() if type(key) is str}
        if _Merge not in data:
            return kept
        merged = data[_Merge]
        members = merged if type(merged) is list else [merged]
        if any(member is _Broken for member in members):
            return kept
        if not all(type(member) is dict for member in members):
            self.report(
                codes.BAD_MERGE,
                "'<<' takes a mapping or a list of mappings",
                data[_MergeEvent],
                hint="quote the key if it is an ordinary one",
            )
            return kept
        for member in members:
            for key, value in member.items():
                kept.setdefault(key, value)
        return kept

    def scalar(self, event: Event, depth: int) -> Data:
        """Build a scalar that may have an anchor or a tag."""
        value: Any
        self.written += len(event.value)
        if event.tag is None:
            value = event.value if event.style else self.plain[event.value]
        else:
            value, problem = tagged_scalar(event.tag, event.value)
            self.tag_problem(event, problem)
        if event.anchor is not None:
            anchored = self.anchors[event.anchor] = _Anchored(depth)
            anchored.ready = True
            anchored.value = value
            anchored.written = len(event.value)
        return value

    def tag_problem(self, event: Event, problem: Problem | None) -> None:
        if problem is not None:
            code, message, hint = problem
            self.report(code, message, event, hint=hint)

    def decorated_collection(self, event: Event, kind: type, depth: int, numbered: bool) -> Data:
        """Build a list or mapping that has an anchor or a tag."""
        is_mapping = kind is MappingStartEvent
        self.tag_problem(event, collection_problem(event.tag, dict if is_mapping else list))
        if event.anchor is None:
            return self.mapping(event, depth + 1, numbered) if is_mapping else self.sequence(event, depth + 1)
        anchored = self.anchors[event.anchor] = _Anchored(depth)
        nodes, written, deepest = self.nodes, self.written, self.deepest
        self.deepest = depth
        value = self.mapping(event, depth + 1, numbered) if is_mapping else self.sequence(event, depth + 1)
        anchored.value = value
        anchored.size = self.nodes - nodes + 1
        anchored.written = self.written - written
        anchored.height = self.deepest - depth
        anchored.ready = True
        self.deepest = max(deepest, self.deepest)
        return value

    def alias(self, event: Event, depth: int) -> Data:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            self.report(
                codes.UNDEFINED_ALIAS,
                f"no anchor &{event.anchor} comes before this alias",
                event,
                hint="put a text that starts with '*' in quotes",
            )
            return _Broken
        if not anchored.ready:
            self.report(
                codes.RECURSIVE_ALIAS, f"*{event.anchor} stands for something that contains it", event
            )
            return _Broken
        deepest = depth + anchored.height
        if deepest > MAX_DEPTH:
            self.too_deep(event)
        self.deepest = max(self.deepest, deepest)
        self.nodes += anchored.size
        # Members are indented by where they stand.
        written = anchored.written + anchored.size * 2 * (depth - anchored.depth)
        self.written += written
        self.copied += written
        limit = max(MAX_COPIED, MAX_COPIES * len(self.source.text))
        if self.nodes > MAX_NODES:
            self.report(codes.TOO_MANY_NODES, f"aliases expand to more than {MAX_NODES:,} nodes", event)
            raise _StopError
        if self.copied > limit:
            message = f"aliases expand to more than {limit:,} characters"
            self.report(codes.TOO_MANY_NODES, message, event)
            raise _StopError
        return anchored.value


class _PlainKeys(dict[str, Any]):
    """Values of plain keys; the merge key gives `_Merge`."""

    def __init__(self, plain: PlainScalars) -> None:
        super().__init__({"<<": _Merge})
        self._plain = plain

    def __missing__(self, text: str) -> Key:
        value = self[text] = self._plain[text]
        return value
