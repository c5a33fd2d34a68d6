"""What torch.compile must run as it is: it would look into buffers, and compile each batch anew."""

from __future__ import annotations

import sys
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def uncompiled(function: F) -> F:
    """Have torch.compile leave a function, and what it calls, alone; what is around it is compiled.

    torch's own decorator loads the compiler, which takes longer than all else
    that a job without it has to load.
    """
    left_alone: list[Callable[..., Any]] = []

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - those of any function
        compiler = sys.modules.get("torch._dynamo")
        if compiler is None:
            return function(*arguments, **named)
        if not left_alone:
            left_alone.append(compiler.disable(function))
        return left_alone[0](*arguments, **named)

    return cast("F", run)
