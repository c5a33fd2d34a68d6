"""Changes to the data of a document that keep most of it what it was."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from fuzz_values import CHARACTERS, NUMBERS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Spot = tuple[Any, Any]

_MOST_COPIES = 40
_MANY = 400
_DEEPEST = 230


def mutated(random: Random, data: Any, *, gently: bool = False) -> Any:  # noqa: ANN401 - any document
    """Return data with a change somewhere, after which much still fits if it is made gently.

    The data itself may change as well.
    """
    spots = _spots(data)
    if spots:
        holder, key = random.choice(spots)
        random.choice(_GENTLE if gently else _CHANGES)(random, holder, key, spots)
    return data


def _spots(data: Any) -> list[Spot]:  # noqa: ANN401 - any document
    """Return the list or mapping and the index or key of every node below the top."""
    found: list[Spot] = []
    level = [data]
    while level and len(found) < 3000:
        below = []
        for node in level:
            keys: Any = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            found += ((node, key) for key in keys)
            below += [node[key] for key in keys if isinstance(node[key], dict | list)]
        level = below
    return found


def nasty(random: Random) -> Any:  # noqa: ANN401 - any value
    """Return a value that something may stumble over."""
    kind = random.random()
    if kind < 0.4:
        return random.choice(NUMBERS)
    if kind < 0.8:
        return text(random)
    values: list[Any] = [[], {}, [[]], [None], {"": None}, ["a"] * 300, {"x": {"tp": "R"}}, [[0]], {"0": [0]}]
    return deepcopy(random.choice(values))


def text(random: Random) -> str:
    """Return a text that something may stumble over."""
    if random.random() < 0.7:
        return random.choice(TEXTS)
    return "".join(random.choice(CHARACTERS) for _ in range(random.randint(1, 12)))


def _replace(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    del spots
    holder[key] = nasty(random)


def _remove(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    del random, spots
    del holder[key]


def _rename(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    if isinstance(holder, dict):
        names = [name for _, name in spots if isinstance(name, str)]
        new = random.choice(names) if names and random.random() < 0.5 else text(random)
        holder[new] = holder.pop(key)


def _edit_name(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    del spots
    if isinstance(holder, dict) and key:
        at = random.randrange(len(key))
        holder[key[:at] + random.choice(CHARACTERS) + key[at + random.randint(0, 1) :]] = holder.pop(key)


def _repeat(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    times = random.choice([1, 2, _MOST_COPIES]) if len(spots) < _MANY else 1
    if isinstance(holder, list):
        holder[key:key] = [holder[key]] * times
    else:
        holder.update((f"{key}{number}", holder[key]) for number in range(times))


def _share(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    """Let two places hold one object, as an alias does."""
    other, where = random.choice(spots)
    if not _contains(other[where], holder):
        holder[key] = other[where]


def _swap(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    other, where = random.choice(spots)
    if not _contains(other[where], holder) and not _contains(holder[key], other):
        holder[key], other[where] = other[where], holder[key]


def _tweak(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    del spots
    value = holder[key]
    if isinstance(value, bool) or value is None:
        holder[key] = not value
    elif isinstance(value, int | float):
        large = abs(value) > 10**300
        holder[key] = random.choice([-value, value if large else value * 10**6, value + 1, str(value)[:300]])
    elif isinstance(value, str):
        at = random.randint(0, len(value))
        piece = random.choice(CHARACTERS) if random.random() < 0.6 else text(random)
        holder[key] = value[:at] + piece + value[at + random.randint(0, 2) :]
    elif isinstance(value, list):
        random.shuffle(value)
    else:
        value[text(random)] = nasty(random)


def _wrap(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    del spots
    for _ in range(random.choice([1, 1, 1, 190, _DEEPEST])):
        holder[key] = [holder[key]] if random.random() < 0.5 else {"x": holder[key]}


def _add(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    names = [name for _, name in spots if isinstance(name, str)]
    if isinstance(holder, dict):
        holder[random.choice([*names, text(random)])] = nasty(random)
    else:
        holder.insert(key, nasty(random))


def _contains(node: Any, wanted: Any) -> bool:  # noqa: ANN401 - any node
    level = [node]
    while level:
        if any(one is wanted for one in level):
            return True
        level = [
            below
            for one in level
            if isinstance(one, dict | list)
            for below in (one.values() if isinstance(one, dict) else one)
            if isinstance(below, dict | list)
        ]
        if len(level) > 2000:
            return True
    return False


def _nudge(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    """Put another value of the same type in a place, most often one that the document has elsewhere."""
    value = holder[key]
    alike = [other[where] for other, where in spots if type(other[where]) is type(value)]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int | float) and random.random() < 0.5:
        holder[key] = value + random.choice([-1, 1, 7])
    elif isinstance(value, list) and random.random() < 0.5:
        random.shuffle(value)
    elif not isinstance(value, dict | list) or random.random() < 0.3:
        new = random.choice(alike)
        holder[key] = new if not isinstance(new, dict | list) else deepcopy(new)


def _respell(random: Random, holder: Any, key: Any, spots: list[Spot]) -> None:  # noqa: ANN401 - any node
    """Give a member the name of another, as in two entries of one module."""
    if isinstance(holder, dict):
        names = [name for other, name in spots if isinstance(other, dict) and other is not holder]
        holder[random.choice(names or [key])] = holder.pop(key)


_GENTLE: list[Callable[[Random, Any, Any, list[Spot]], None]] = [
    *(_nudge, _nudge, _nudge, _nudge, _respell, _remove, _repeat, _share),
]

_CHANGES: list[Callable[[Random, Any, Any, list[Spot]], None]] = [
    *(_replace, _replace, _replace, _remove, _rename, _edit_name, _repeat, _share, _share, _swap),
    *(_tweak, _tweak, _tweak, _wrap, _add, _add),
]
