"""Imports inside hpplan: no file needs, however far around, what needs it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _modules(root: Path) -> dict[str, Path]:
    files = (root / "hpplan").rglob("*.py")
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


def _imports(file: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield every module that a file names in an import, those for types alone and late ones too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


def _circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Take away, as long as there is one, a module that imports none of the others; return what stays."""
    left = {module: set(names) - {module} for module, names in imports.items()}
    while free := [module for module, names in left.items() if not names & left.keys()]:
        for module in free:
            del left[module]
    while unused := [module for module in left if not any(module in names for names in left.values())]:
        for module in unused:
            del left[module]
    return [sorted(left)] if left else []


def test_no_circle_of_files(root: Path) -> None:
    """A file that is a part of a circle can be neither read nor changed alone."""
    modules = _modules(root)
    assert _circles({module: set(_imports(file, modules)) for module, file in modules.items()}) == []


def test_a_circle_is_seen() -> None:
    """The test above passes whatever there is."""
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert _circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
