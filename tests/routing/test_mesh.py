"""Meshes: parsing, ranks of any axis order, plans, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput, InvalidOption
from hpplan.routing.mesh import Mesh, check_world_size, mesh_from_data, mesh_of_plan, parse_mesh
from hpplan.routing.modes import MODES, mode_of

if TYPE_CHECKING:
    from collections.abc import Callable


def found(action: Callable[[], object]) -> list[tuple[str, Any]]:
    """Return code and place of each finding that an action raises."""
    with pytest.raises(InvalidInput) as raised:
        action()
    return [(one.code.name, one.place.position or one.place.path) for one in raised.value.diagnostics]


def test_axes_stay_as_written() -> None:
    """The order of axes, which decides every rank's number, is lost."""
    mesh = parse_mesh("tp=4, dp=2,cp=3,sp")
    assert list(mesh.axes.items()) == [("tp", 4), ("dp", 2), ("cp", 3)]
    assert (mesh.sp, mesh.pp, mesh.world_size, mesh.parent_size) == (True, 1, 24, 12)
    assert str(mesh) == "tp=4,dp=2,cp=3,sp"


def test_parents_when_tp_is_innermost() -> None:
    """Groups hold the wrong global ranks."""
    assert parse_mesh("dp=2,cp=2,tp=2").parents() == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_parents_when_tp_is_outermost() -> None:
    """A mesh whose tp is not innermost is treated as if it were."""
    assert parse_mesh("tp=2,dp=2,cp=2").parents() == [(0, 4, 1, 5), (2, 6, 3, 7)]


def test_only_the_first_stage_exchanges() -> None:
    """A rank of a later pipeline stage takes part, or pp's place in the order is ignored."""
    mesh = parse_mesh("dp=2,pp=2,tp=2")
    assert mesh.parents() == [(0, 1), (4, 5)]
    assert [mesh.parent_of(rank) for rank in range(8)] == [
        (0, 0), (0, 1), None, None, (1, 0), (1, 1), None, None,
    ]  # fmt: skip


def test_meshes_are_equal_where_ranks_have_the_same_places() -> None:
    """Two orders of axes pass for one mesh, or one mesh for two because it is spelled in two ways."""
    mesh = parse_mesh("dp=2,tp=2")
    assert parse_mesh("tp=2,dp=2") != mesh
    assert parse_mesh("dp=2,tp=2,sp") != mesh
    assert parse_mesh("dp=2,tp=2,ep=2") != mesh
    same = [parse_mesh("pp=1,dp=2,cp=1,tp=2"), parse_mesh("dp=2,tp=2,ep=1")]
    assert {mesh, *same} == {mesh}
    assert parse_mesh("dp=2,sp") == parse_mesh("dp=2")


def test_ep_changes_nothing_but_has_to_divide() -> None:
    """Expert groups change the ranks, or a size that cannot work is let through."""
    assert parse_mesh("dp=2,tp=2,ep=4").parents() == parse_mesh("dp=2,tp=2").parents()
    assert found(lambda: parse_mesh("pp=3,dp=2,tp=2,ep=3")) == [("ep-does-not-divide", (1, 1))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dp=2,ctx=4", [("unknown-axis", (1, 6))]),
        ("dp=2, TP=4", [("unknown-axis", (1, 7))]),
        ("tp=2,dp=2,tp=4", [("duplicate-axis", (1, 11))]),
        ("tp=2,sp,sp", [("duplicate-axis", (1, 9))]),
        ("tp=0", [("unusable-axis-size", (1, 4))]),
        ("tp=-2", [("unusable-axis-size", (1, 4))]),
        ("tp=2.5", [("unusable-axis-size", (1, 4))]),
        ("tp=two", [("unusable-axis-size", (1, 4))]),
        ("tp=", [("unusable-axis-size", (1, 4))]),
        ("tp=²", [("unusable-axis-size", (1, 4))]),
        ("tp=1_0", [("unusable-axis-size", (1, 4))]),
        ("tp2", [("malformed-mesh", (1, 1))]),
        ("=2", [("malformed-mesh", (1, 1))]),
        ("", [("malformed-mesh", (1, 1))]),
        ("tp=2,,dp=2", [("malformed-mesh", (1, 6))]),
        ("sp=1", [("malformed-mesh", (1, 1))]),
        ("dp=99999999999999999999999", [("unusable-axis-size", (1, 4))]),
        ("cp=x,foo=1,tp=0", [("unusable-axis-size", (1, 4)), ("unknown-axis", (1, 6)),
                             ("unusable-axis-size", (1, 15))]),
    ],
)  # fmt: skip
def test_bad_mesh_options(text: str, expected: list[tuple[str, Any]]) -> None:
    """A mesh that was mistyped is guessed at, or the finding points at another column."""
    assert found(lambda: parse_mesh(text)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sp=2", "`sp` takes no size"),
        ("dp=99999999999999999999999", "up to 4,194,304 ranks"),
        ("dp=4194305", "up to 4,194,304 ranks"),
    ],
)
def test_messages_say_what_is_wrong(text: str, words: str) -> None:
    """Somebody is told that there is no axis sp, or that a number is no whole number of at least 1."""
    with pytest.raises(InvalidOption, match=words):
        parse_mesh(text)


def test_mesh_of_a_plan() -> None:
    """The sizes of a plan are taken in another order than pp, dp, cp, tp."""
    place = Place("plan", ("parallel_dims",))
    dims = {"tp_size": 4, "dp_size": 2, "pp_size": 2, "sequence_parallel": True}
    mesh = mesh_of_plan(dims, place)
    assert list(mesh.axes.items()) == [("pp", 2), ("dp", 2), ("cp", 1), ("tp", 4)]
    assert mesh.sp
    bad = {"tp_size": 0, "cp_size": "2", "dp_size": True, "sequence_parallel": 1}
    assert found(lambda: mesh_of_plan(bad, place)) == [
        ("unusable-axis-size", ("parallel_dims", "dp_size")),
        ("unusable-axis-size", ("parallel_dims", "cp_size")),
        ("unusable-axis-size", ("parallel_dims", "tp_size")),
        ("malformed-mesh", ("parallel_dims", "sequence_parallel")),
    ]
    for size, spelled in (("2", "the string '2'"), (2.0, "the number 2.0"), (True, "true")):
        # A string in backquotes would read as the number that belongs there.
        with pytest.raises(InvalidInput) as caught:
            mesh_of_plan({"cp_size": size}, place)
        assert caught.value.diagnostics[0].message.endswith(f"at least 1, not {spelled}")
    huge = dict.fromkeys(("dp_size", "tp_size"), int("9" * 4300))
    assert found(lambda: mesh_of_plan(huge, place)) == [
        ("unusable-axis-size", ("parallel_dims", "dp_size")),
        ("unusable-axis-size", ("parallel_dims", "tp_size")),
    ]
    assert found(lambda: mesh_of_plan([2, 4], place)) == [("malformed-mesh", ("parallel_dims",))]


def test_mesh_survives_a_writer_that_sorts_keys() -> None:
    """Sorted keys of a JSON file change the order of the axes."""
    mesh = parse_mesh("tp=2,dp=2,cp=3,ep=4,sp")
    data = mesh.to_data()
    data["axes"] = dict(sorted(data["axes"].items()))
    assert str(mesh_from_data(data, Place("t"))) == str(mesh)
    del data["order"]
    assert list(mesh_from_data(data, Place("t")).axes) == ["dp", "cp", "tp"]
    data["order"] = ["dp", "cp"]
    assert found(lambda: mesh_from_data(data, Place("t"))) == [("malformed-mesh", ("order",))]


def test_world_size_that_disagrees() -> None:
    """A job on another number of ranks starts, and hangs."""
    mesh = parse_mesh("pp=2,tp=4")
    assert not list(check_world_size(mesh, 8, Place("m")))
    (one,) = check_world_size(mesh, 4, Place("m"))
    assert one.code.name == "world-size-mismatch"
    assert "8 ranks" in one.message
    assert "on 4" in one.message


@pytest.mark.parametrize("sp", [False, True])
@pytest.mark.parametrize(("cp", "tp"), [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_exactly_one_mode_fits(cp: int, tp: int, sp: bool) -> None:
    """A mesh has no mode, or two that disagree."""
    mesh = Mesh({"cp": cp, "tp": tp}, sp)
    assert [mode for mode in MODES if mode.fits(mesh)] == [mode_of(mesh)]
