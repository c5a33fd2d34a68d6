"""The mesh: named axes of the job's ranks, and which global ranks exchange with each other."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.errors import InvalidInput, InvalidOption
from hpplan.nearest import nearest_name
from hpplan.routing.mesh_codes import (
    DUPLICATE_AXIS,
    EP_DOES_NOT_DIVIDE,
    MALFORMED_MESH,
    UNKNOWN_AXIS,
    UNUSABLE_AXIS_SIZE,
    WORLD_SIZE_MISMATCH,
)
from hpplan.shapes.findings import kind_of
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AXES = ("pp", "dp", "cp", "tp")
"""The axes that make up the ranks, in the order they have where nobody says otherwise."""

LARGEST_WORLD = 2**22
"""Ranks of a mesh that hpplan lists one by one; far above any job, and well below any memory."""

_FORM = "write it as dp=2,cp=2,tp=4,sp"


@dataclass(frozen=True, eq=False)
class Mesh:
    """Axes outermost first, as written; an axis that is not there has size 1.

    `sp` says that TP ranks split the sequence. `ep` only reshapes ranks.
    `pool` replicas, one after the other, make up a parent. Meshes are equal
    where every rank is at the same place of both.
    """

    axes: dict[str, int]
    sp: bool = False
    ep: int = 1
    pool: int = 1

    @property
    def pp(self) -> int:
        """Pipeline stages; the first alone exchanges."""
        return self.axes.get("pp", 1)

    @property
    def dp(self) -> int:
        """Data-parallel replicas."""
        return self.axes.get("dp", 1)

    @property
    def cp(self) -> int:
        """Context-parallel size."""
        return self.axes.get("cp", 1)

    @property
    def tp(self) -> int:
        """Tensor-parallel size."""
        return self.axes.get("tp", 1)

    @property
    def world_size(self) -> int:
        """Number of ranks of the whole job."""
        return math.prod(self.axes.values())

    @property
    def shape(self) -> tuple[tuple[tuple[str, int], ...], bool]:
        """What of the mesh matters to the exchange: axes above 1 in order, the pool, sp where there is tp."""
        axes = tuple((axis, size) for axis, size in self.axes.items() if size > 1)
        pool = (("pool", self.pool),) if self.pool > 1 else ()
        return axes + pool, self.sp and self.tp > 1

    def __eq__(self, other: object) -> bool:
        """Whether both place and group the same ranks alike."""
        return isinstance(other, Mesh) and (self.shape, self.ep) == (other.shape, other.ep)

    def __hash__(self) -> int:
        """Equal meshes have equal hashes."""
        return hash((self.shape, self.ep))

    @property
    def replica_size(self) -> int:
        """Number of ranks of one replica: cp x tp."""
        return self.cp * self.tp

    @property
    def parent_size(self) -> int:
        """Number of ranks of one parent: those of the replicas of a pool."""
        return self.pool * self.replica_size

    @property
    def parent_count(self) -> int:
        """Number of parents."""
        return self.dp // self.pool

    def pooled(self, pool: int | str) -> Mesh:
        """Return the mesh whose parents are pools of so many replicas, or "all" of them.

        A number that does not divide dp has no such mesh.
        """
        return replace(self, pool=pool if isinstance(pool, int) else self.dp)

    def strides(self) -> dict[str, int]:
        """Return how far apart neighbours along each axis are in global ranks."""
        strides = dict.fromkeys(AXES, 0)
        step = 1
        for axis in reversed(self.axes):
            strides[axis] = step
            step *= self.axes[axis]
        return strides

    def parents(self) -> list[tuple[int, ...]]:
        """Return the global ranks of each parent, by dp coordinate; position in a tuple = parent rank."""
        steps = self.strides()
        block = [
            dp * steps["dp"] + cp * steps["cp"] + tp * steps["tp"]
            for dp in range(self.pool)
            for cp in range(self.cp)
            for tp in range(self.tp)
        ]
        step = self.pool * steps["dp"]
        return [tuple(parent * step + rank for rank in block) for parent in range(self.parent_count)]

    def coordinates(self, rank: int) -> dict[str, int]:
        """Return the coordinate of a global rank along each of the four axes."""
        steps = self.strides()
        return {axis: rank // steps[axis] % self.axes[axis] if axis in self.axes else 0 for axis in AXES}

    def parent_of(self, rank: int) -> tuple[int, int] | None:
        """Return the number of the parent and the parent rank of a global rank; None on a later pp stage."""
        at = self.coordinates(rank)
        if at["pp"]:
            return None
        parent, replica = divmod(at["dp"], self.pool)
        return parent, replica * self.replica_size + at["cp"] * self.tp + at["tp"]

    def to_data(self) -> dict[str, Any]:
        """Return the `mesh` field of a routing table; writers sort keys, so `order` keeps the order."""
        data: dict[str, Any] = {"axes": dict(self.axes), "order": list(self.axes), "sp": self.sp}
        if self.ep > 1:
            data["ep"] = self.ep
        return data

    def __str__(self) -> str:
        """Spell the mesh as `--mesh` takes it."""
        parts = [f"{axis}={size}" for axis, size in self.axes.items()]
        if self.ep > 1:
            parts.append(f"ep={self.ep}")
        if self.sp:
            parts.append("sp")
        return ",".join(parts) or "tp=1"


def parse_mesh(text: str, document: str = "--mesh") -> Mesh:
    """Return the mesh of an option such as `dp=2,cp=2,tp=4,sp`.

    Raises InvalidOption; findings carry the column within `text`.
    """
    sizes: dict[str, int] = {}
    flags: set[str] = set()
    problems: list[Diagnostic] = []
    column = 1
    for part in text.split(","):
        word = part.strip()
        start = column + len(part) - len(part.lstrip())
        place = Place(document, position=(1, start))
        column += len(part) + 1
        name, equals, number = (piece.strip() for piece in word.partition("="))
        if name in sizes or name in flags:
            problems.append(Diagnostic(DUPLICATE_AXIS, f"`{name}` is given twice", place))
        elif name == "sp" and not equals:
            flags.add(name)
        elif name == "sp":
            message = f"`sp` takes no size, and here it has {f'`{number}`' if number else 'an empty one'}"
            hint = "write `sp` alone, where TP ranks split the sequence; tp has the number of them"
            problems.append(Diagnostic(MALFORMED_MESH, message, place, hint=hint))
        elif not equals or not name:
            what = f"`{word}` is no axis=size" if word else "a part is empty"
            problems.append(Diagnostic(MALFORMED_MESH, what, place, hint=_form_hint(word)))
        elif name not in AXES and name != "ep":
            problems.append(_unknown(name, place))
        elif re.fullmatch(r"0*[1-9][0-9]{18,}", number):
            at = Place(document, position=(1, start + part.strip().index("=") + 1))
            message = f"the size of {name} is {number}, and hpplan routes up to {LARGEST_WORLD:,} ranks"
            problems.append(Diagnostic(UNUSABLE_AXIS_SIZE, message, at))
            flags.add(name)
        elif not re.fullmatch(r"[0-9]+", number) or int(number) < 1:
            at = Place(document, position=(1, start + part.strip().index("=") + 1))
            problems.append(_unusable(name, f"`{number}`", at))
            flags.add(name)
        else:
            sizes[name] = int(number)
    try:
        return _made(sizes, sp="sp" in flags, place=Place(document, position=(1, 1)), problems=problems)
    except InvalidInput as error:
        raise InvalidOption(error.diagnostics) from None


def mesh_of_plan(parallel_dims: object, place: Place) -> Mesh:
    """Return the mesh of a plan's `parallel_dims`, in the order pp, dp, cp, tp.

    `place` is that of `parallel_dims`. Raises InvalidInput for sizes that are
    not whole numbers of at least 1.
    """
    sizes: dict[str, int] = {}
    problems: list[Diagnostic] = []
    if not isinstance(parallel_dims, dict):
        raise InvalidInput([Diagnostic(MALFORMED_MESH, "`parallel_dims` must be a mapping of sizes", place)])
    for axis in (*AXES, "ep"):
        size = parallel_dims.get(f"{axis}_size", 1)
        if type(size) is int and size > LARGEST_NUMBER:
            message = f"the size of {axis} is above 2^53 - 1, and hpplan routes up to {LARGEST_WORLD:,} ranks"
            problems.append(Diagnostic(UNUSABLE_AXIS_SIZE, message, place.at(f"{axis}_size")))
        elif type(size) is not int or size < 1:
            problems.append(_unusable(axis, kind_of(size), place.at(f"{axis}_size")))
        else:
            sizes[axis] = size
    sp = parallel_dims.get("sequence_parallel", False)
    if type(sp) is not bool:
        where = place.at("sequence_parallel")
        problems.append(
            Diagnostic(MALFORMED_MESH, f"`sequence_parallel` must be true or false, not {kind_of(sp)}", where)
        )
    return _made(sizes, sp=sp is True, place=place, problems=problems)


def mesh_from_data(data: Mapping[str, Any], place: Place) -> Mesh:
    """Return the mesh of a routing table's `mesh` field, whose shape was checked.

    Raises InvalidInput for unknown axes and an order that does not name them all.
    """
    axes = data["axes"]
    order = data.get("order") or [axis for axis in AXES if axis in axes]
    problems = [_unknown(axis, place.key("axes", axis)) for axis in axes if axis not in AXES]
    if not problems and sorted(order) != sorted(axes):
        problems.append(
            Diagnostic(MALFORMED_MESH, "`order` must name the axes, each once", place.at("order"))
        )
    sizes = {axis: axes[axis] for axis in order} if not problems else {}
    return _made({**sizes, "ep": data.get("ep", 1)}, sp=data["sp"], place=place, problems=problems)


def check_world_size(mesh: Mesh, world_size: int, place: Place) -> Iterator[Diagnostic]:
    """Yield a finding when a job of `world_size` ranks is not the job of this mesh."""
    if world_size != mesh.world_size:
        yield Diagnostic(
            WORLD_SIZE_MISMATCH,
            f"the mesh {mesh} has {plural(mesh.world_size, 'rank')}, and the job runs on {world_size:,}",
            place,
            hint=f"start {plural(mesh.world_size, 'rank')}, or route for a mesh of {world_size:,}",
        )


def _made(sizes: dict[str, int], *, sp: bool, place: Place, problems: list[Diagnostic]) -> Mesh:
    ep = sizes.pop("ep", 1)
    world = math.prod(sizes.values())
    if not problems and world > LARGEST_WORLD:
        message = f"the mesh has {world:,} ranks, and hpplan routes up to {LARGEST_WORLD:,} ranks"
        problems.append(Diagnostic(UNUSABLE_AXIS_SIZE, message, place))
    ranks = math.prod(size for axis, size in sizes.items() if axis != "pp")
    if not problems and ranks % ep:
        problems.append(
            Diagnostic(EP_DOES_NOT_DIVIDE, f"ep={ep} does not divide dp x cp x tp = {ranks}", place)
        )
    if problems:
        raise InvalidInput(problems)
    return Mesh(sizes, sp, ep)


def _unknown(name: str, place: Place) -> Diagnostic:
    near = nearest_name(name.lower(), [*AXES, "ep", "sp"], 0.5)
    known = "axes are pp, dp, cp, tp and ep"
    return Diagnostic(
        UNKNOWN_AXIS,
        f"`{name}` is no axis of the mesh",
        place,
        hint=f"did you mean `{near}`? {known}" if near else known,
    )


def _unusable(axis: str, spelled: str, place: Place) -> Diagnostic:
    return Diagnostic(
        UNUSABLE_AXIS_SIZE,
        f"the size of {axis} must be a whole number of at least 1, not {spelled or 'nothing'}",
        place,
    )


def _form_hint(word: str) -> str:
    glued = re.fullmatch(r"(pp|dp|cp|tp|ep)[:x ]?([1-9][0-9]*)", word)
    return f"did you mean `{glued[1]}={glued[2]}`? {_FORM}" if glued else _FORM
