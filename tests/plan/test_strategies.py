"""Strategies: resolution, precedence and installed packages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hpplan.errors import InvalidInput
from hpplan.plan.strategies import BUILT_IN, Strategy, StrategyTable, installed_strategies

if TYPE_CHECKING:
    from pathlib import Path

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
MINE = Strategy(target="my.fn", kind="moe_ep_routed", target_class="MyMoE", model_types=("my_moe",))


def test_built_in_table() -> None:
    """A built-in strategy departs from the table in DESIGN section 2.2."""
    table = StrategyTable(BUILT_IN)
    deepseek = table.resolve(EP, "deepseek_v3")
    assert deepseek is not None
    assert (deepseek.kind, deepseek.target_class) == ("moe_ep_routed", "DeepseekV3MoE")
    assert deepseek.strip_boundary_subpatterns == ("experts.*", "shared_experts")
    qwen = table.resolve(
        "hyper_parallel.models.qwen3_moe.adapter.distributed.expert_parallel.qwen3moe_ep_compute_fn", None
    )
    assert qwen is not None
    assert (qwen.kind, qwen.target_class) == ("moe_ep_routed", "Qwen3MoeSparseMoeBlock")
    assert qwen.strip_boundary_subpatterns == ()


@pytest.mark.parametrize(
    ("target", "model_type", "found"),
    [
        ("my.fn", "my_moe", True),
        ("my.fn", None, True),
        ("my.fn", "other_moe", False),
        ("my.fn2", "my_moe", False),
        ("fn", "my_moe", False),
    ],
)
def test_resolution_is_exact(target: str, model_type: str | None, found: bool) -> None:
    """A strategy is found by a similar target, or serves a model type that it does not list."""
    assert (StrategyTable(BUILT_IN, [MINE]).resolve(target, model_type) is MINE) is found


def test_adapter_inner_wrapper_is_cp_attention() -> None:
    """An adapter's inner wrapper needs a declaration, or the same name counts in another position."""
    table = StrategyTable(BUILT_IN)
    target = "hyper_parallel.models.qwen3.adapter.attention.wrap"
    found = table.resolve(target, "qwen3", inner_wrapper=True)
    assert found is not None
    assert (found.kind, found.target_class) == ("cp_attention", None)
    assert table.resolve(target, "qwen3") is None
    assert table.resolve("hyper_parallel.models.adapter.wrap", None, inner_wrapper=True) is None


def test_later_sources_win() -> None:
    """A declared strategy does not replace the built-in one with its target."""
    own = Strategy(target=EP, kind="moe_ep_routed", target_class="Mine")
    assert StrategyTable(BUILT_IN, [own]).resolve(EP, None) is own


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on sys.path where a package with entry points can be laid down."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def install(folder: Path, name: str, content: str, point: str | None = None) -> None:
    """Lay down a package `name` whose module declares `STRATEGY`; `point` names the entry point."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    points = f"[hpplan.strategies]\n{point or name} = {name}_module:STRATEGY\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    (folder / f"{name}_module.py").write_text(content, encoding="utf-8")


def test_no_package_declares_any() -> None:
    """An environment without plug-ins yields strategies, or fails."""
    assert installed_strategies() == ()


@pytest.mark.parametrize("wrap", ["{}", "[{}]", "lambda: {}"])
def test_installed_package_adds_strategies(package: Path, wrap: str) -> None:
    """An entry point's mapping, list or function is not understood."""
    data = '{"target": "pkg.fn", "kind": "moe_ep_routed", "target_class": "PkgMoE"}'
    name = f"pkg{len(wrap)}"
    install(package, name, "STRATEGY = " + wrap.replace("{}", data))
    assert [(item.target, item.target_class) for item in installed_strategies()] == [("pkg.fn", "PkgMoE")]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("clash_built_in", f'STRATEGY = {{"target": "{EP}", "kind": "moe_ep_routed"}}', "HP306"),
        ("twice", 'STRATEGY = [{"target": "a", "kind": "k"}, {"target": "a", "kind": "k"}]', "HP306"),
        ("raises", "raise RuntimeError('no')", "HP307"),
        ("leaves", "raise SystemExit", "HP307"),
        ("anything", "class Own(BaseException): pass\nraise Own", "HP307"),
        ("closes", "raise GeneratorExit", "HP307"),
        ("mute", "class Own(Exception):\n def __str__(self): raise Own\nraise Own", "HP307"),
        ("nameless", "OTHER = 1", "HP307"),
        ("mistyped", "STRATEGY = {'target': 1, 'kind': 'k'}", "HP307"),
        ("number", "STRATEGY = 7", "HP307"),
    ],
)
def test_broken_packages(package: Path, name: str, content: str, code: str) -> None:
    """A package that clashes or does not load is passed over, or ends in a traceback."""
    install(package, name, content)
    with pytest.raises(InvalidInput) as caught:
        installed_strategies()
    assert [item.code.id for item in caught.value.diagnostics] == [code]
    assert name in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("points", "what"),
    [
        (b"[hpplan.strategies]\nmoe\n", "the entry points of torn cannot be read: "),
        (b"[hpplan.strategies]\nmoe = \xff:STRATEGY\n", "the entry points of torn cannot be read: "),
        (
            b"[hpplan.strategies]\nmoe = torn module:STRATEGY\n",
            "the entry point 'moe' of torn (torn module:STRATEGY) does not load: that is no MODULE:NAME",
        ),
        (
            b"[hpplan.strategies]\nmoe =\n",
            "the entry point 'moe' of torn () does not load: that is no MODULE:NAME",
        ),
    ],
)
def test_malformed_entry_points(package: Path, points: bytes, what: str) -> None:
    """A file that no packaging tool would write ends in a traceback, or hides what is wrong with others."""
    install(package, "torn", "")
    install(package, "raises", "raise RuntimeError('no')")
    (package / "torn-1.0.dist-info" / "entry_points.txt").write_bytes(points)
    with pytest.raises(InvalidInput) as caught:
        installed_strategies()
    torn, raises = sorted(caught.value.diagnostics, key=lambda found: "torn" not in found.message)
    assert torn.message.startswith(what)
    assert (torn.code.id, raises.code.id) == ("HP307", "HP307")
    assert "raises_module:STRATEGY) does not load: no" in raises.message


def test_malformed_files_of_strangers(package: Path) -> None:
    """A package that has nothing to do with hpplan keeps it from running."""
    install(package, "torn", "")
    install(package, "mine", 'STRATEGY = {"target": "a.b", "kind": "k"}')
    (package / "torn-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff[\nno section")
    assert [item.target for item in installed_strategies()] == ["a.b"]


def test_what_a_package_prints(package: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is printed while a package is imported, by whatever, goes into the plan."""
    install(
        package,
        "chatty",
        "import ctypes, os\nctypes.CDLL(None).puts(b'five')\nprint('one')\n"
        "os.system('echo two')\nos.write(1, b'three')\n"
        'def STRATEGY():\n    print("four")\n    return {"target": "a.b", "kind": "k"}\n',
    )
    assert [item.target for item in installed_strategies()] == ["a.b"]
    out, err = capfd.readouterr()
    assert out == ""
    assert all(word in err for word in ("one", "two", "three", "four", "five"))


def test_clash_names_both_packages(package: Path) -> None:
    """Nobody could tell which of two packages to uninstall."""
    for name in ("one", "other"):
        install(package, name, 'STRATEGY = {"target": "a.b", "kind": "k"}', point="moe")
    with pytest.raises(InvalidInput) as caught:
        installed_strategies()
    (found,) = caught.value.diagnostics
    said = "the strategy 'a.b' of the entry point 'moe' of other is already declared by"
    assert found.message == f"{said} the entry point 'moe' of one"
