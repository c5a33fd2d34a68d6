"""The one door to transformers and torch: what comes through it works without a network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from hpplan.documents.disk.descriptors import prints_aside
from hpplan.errors import UnusableRequest, broken_package

OLDEST = (5, 24)
"""The oldest transformers whose plans are read right: earlier ones call styles otherwise, or mean others."""

INSTALL = "in the folder of hpplan, type: python -m pip install '.[models]'"


def transformers() -> Any:  # noqa: ANN401 - typed, its sources would have to be checked with ours
    """Import transformers, and torch with it.

    Raises UnusableRequest, with what to install, where one of them is missing or too old.
    """
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        are = "are" if len(missing) > 1 else "is"
        raise UnusableRequest(
            f"Reading a model needs {' and '.join(missing)}, which {are} not installed; {INSTALL}"
        )
    # Read when the hub's client is imported; nothing here asks a hub for anything, and nothing shall.
    os.environ["HF_HUB_OFFLINE"] = "1"
    with _importing("torch"):
        import torch  # noqa: F401 - whether it can be imported is the question
    with _importing("transformers"):
        import transformers as library
    if (version := tuple(map(int, re.findall(r"\d+", library.__version__)[:2]))) < OLDEST:
        raise UnusableRequest(
            f"Reading a model needs transformers {'.'.join(map(str, OLDEST))} or newer, "
            f"and {'.'.join(map(str, version))} is installed; {INSTALL}"
        )
    return library


@contextmanager
def _importing(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - a package that lacks another raises what it likes
        raise UnusableRequest(f"Reading a model needs {name}, and {broken_package(name, error)}") from None


@contextmanager
def quiet(library: Any) -> Iterator[None]:  # noqa: ANN401 - see above
    """Keep what transformers says from standard error, and what anybody prints from standard output."""
    import warnings

    before = library.logging.get_verbosity()
    library.logging.set_verbosity(library.logging.CRITICAL)
    try:
        with prints_aside(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        library.logging.set_verbosity(before)
