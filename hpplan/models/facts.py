"""What a model consists of, as plain data: modules, parameters, and how transformers shards them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from hpplan.diagnostics import Place
from hpplan.plan.fqn import ancestors


class Parts(NamedTuple):
    """What a dimension of a parameter is made of, and must not be cut inside: 4 key-value heads."""

    number: int
    noun: str


VOCABULARY = "tokens of the vocabulary"


class Parameter(NamedTuple):
    """One parameter; `parts` says of a dimension what it is made of, where that is more than numbers."""

    shape: tuple[int, ...]
    trainable: bool = True
    parts: Mapping[int, Parts] = {}


@dataclass(frozen=True)
class Module:
    """One module: its class, what its forward takes, and what it holds itself.

    `inputs` are the names of forward's parameters; a module without a forward
    of its own, such as a list of modules, has none.
    """

    class_name: str
    inputs: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    buffers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelFacts:
    """A model: FQN to module, from the model itself (the empty FQN) down, each before what is below it.

    `tp_styles` and `ep_styles` are the model's own plans, resolved: FQN of a
    module or parameter to the name of a style. `tied` are groups of names that
    stand for one parameter. `embedding` and `head` are where tokens come in
    and logits come out.
    """

    model_type: str
    model_class: str
    modules: Mapping[str, Module]
    tp_styles: Mapping[str, str] = field(default_factory=dict)
    ep_styles: Mapping[str, str] = field(default_factory=dict)
    tied: tuple[tuple[str, ...], ...] = ()
    embedding: str | None = None
    head: str | None = None
    library: str = ""
    """Name and version of the library that built the model."""
    place: Place = field(default=Place("model"))
    """The configuration that describes it."""

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter by its full name; a tied one under each of its names."""
        return {
            join(fqn, name): parameter
            for fqn, module in self.modules.items()
            for name, parameter in module.parameters.items()
        }

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """FQN to the FQNs right below it, in the model's order."""
        children: dict[str, list[str]] = {fqn: [] for fqn in self.modules}
        for fqn in self.modules:
            if fqn:
                children[parent(fqn)].append(fqn)
        return children

    def below(self, fqn: str) -> Iterator[str]:
        """Yield a module and every module below it."""
        yield fqn
        for child in self.children[fqn]:
            yield from self.below(child)

    def parameters_below(self, fqn: str) -> list[str]:
        """Return the full names of the parameters of a module and of all modules below it."""
        return [join(module, name) for module in self.below(fqn) for name in self.modules[module].parameters]


def join(fqn: str, name: str) -> str:
    """Return the full name of what a module calls `name`; the model itself has the empty FQN."""
    return f"{fqn}.{name}" if fqn else name


def parent(fqn: str) -> str:
    """Return the FQN of the module above one."""
    return fqn.rpartition(".")[0]


def last_part(fqn: str) -> str:
    """Return what the module above calls a module or parameter."""
    return fqn.rpartition(".")[2]


def upwards(name: str) -> Iterator[str]:
    """Yield a name and the FQNs of all modules above it, up to the model itself."""
    if name:
        yield name
        yield from ancestors(name)
    yield ""
