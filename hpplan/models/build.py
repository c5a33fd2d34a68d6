"""Building a model on the meta device: its modules and shapes, without weights or memory for any."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from hpplan.diagnostics import Diagnostic
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.models.codes import REMOTE_CODE, UNKNOWN_MODEL, UNUSABLE_MODEL_CONFIG
from hpplan.models.config import ModelConfig
from hpplan.models.library import quiet, transformers

_LONGEST = 100
"""Characters of a name that somebody typed; to compare longer ones takes long."""


def build(configuration: ModelConfig) -> Any:  # noqa: ANN401 - a transformers model
    """Build the model of a configuration; no code runs but that of transformers.

    Raises InvalidInput where there is no such model, and UnusableRequest
    where a package that it needs is missing.
    """
    library = transformers()
    config = config_of(configuration)
    with quiet(library):
        model_class = _model_class(configuration, library)

        def built() -> Any:  # noqa: ANN401 - the same
            import torch
            from transformers import initialization

            with (
                torch.device("meta"),
                initialization.no_init_weights(),
                initialization.meta_device_safe_creation_ops(),
            ):
                return model_class._from_config(config, attn_implementation="eager")  # noqa: SLF001 - the public one is not on every class

        model = _tried(built, configuration)
        model.tie_weights()
        return model


def config_of(configuration: ModelConfig) -> Any:  # noqa: ANN401 - transformers' configuration
    """Return what transformers makes of a configuration; raises as `build` does."""
    library = transformers()
    with quiet(library):
        return _config(configuration, library)


def built_of(configuration: ModelConfig, config: Any) -> Any:  # noqa: ANN401 - transformers' configuration and model
    """Build the model of a configuration as it was changed: on the CPU, in float64, with plain kernels."""
    library = transformers()
    with quiet(library):
        model_class = _model_class(configuration, library)

        def built() -> Any:  # noqa: ANN401 - the same
            import torch

            plain = {"attn_implementation": "eager", "experts_implementation": "eager"}
            return model_class._from_config(config, dtype=torch.float64, **plain).eval()  # noqa: SLF001 - as in `build`

        return _tried(built, configuration)


def _config(configuration: ModelConfig, library: Any) -> Any:  # noqa: ANN401 - transformers' modules and objects
    known = library.CONFIG_MAPPING
    if configuration.model_type not in known:
        raise _unknown(configuration, configuration.model_type, known, "model_type")
    from copy import deepcopy

    data = deepcopy(configuration.data)
    return _tried(lambda: known[configuration.model_type].from_dict(data), configuration)


def _model_class(configuration: ModelConfig, library: Any) -> Any:  # noqa: ANN401 - the same
    name = configuration.architecture
    if name is None:
        name = _tried(lambda: usual_class(configuration.model_type), configuration)
    model_class = _tried(lambda: getattr(library, name, None), configuration)
    if isinstance(model_class, type) and issubclass(model_class, library.PreTrainedModel):
        return model_class
    keys = ("architectures", 0) if configuration.architecture is not None else ("model_type",)
    raise _unknown(configuration, name, dir(library), *keys)


def usual_class(model_type: str) -> str:
    """Return the class that a model type stands for where `architectures` names none."""
    from transformers.models.auto import modeling_auto as auto

    for mapping in (
        auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_MAPPING_NAMES,
    ):
        name = mapping.get(model_type)
        if name is not None:
            return name if isinstance(name, str) else str(name[0])
    return model_type


def _unknown(configuration: ModelConfig, name: str, known: Iterable[str], *keys: str | int) -> InvalidInput:
    """Return the failure for a name that transformers does not have, with or without code beside it."""
    place = configuration.place
    if isinstance(configuration.data.get("auto_map"), dict):
        finding = Diagnostic(
            REMOTE_CODE,
            f"'{name}' is not in transformers but in code of its own (`auto_map`), which hpplan does not run",
            place.key("auto_map"),
            hint="use a transformers that has the model, or write the plan by hand",
        )
    else:
        near = get_close_matches(name, known, 1) if len(name) <= _LONGEST else []
        finding = Diagnostic(
            UNKNOWN_MODEL,
            f"the installed transformers has no '{name}'",
            place.at(*keys),
            hint=f"did you mean '{near[0]}'?" if near else "install a transformers that has the model",
        )
    return InvalidInput([finding])


def _tried(action: Callable[[], Any], configuration: ModelConfig) -> Any:  # noqa: ANN401 - the same
    """Run code of transformers; whatever it raises is said of the configuration it was given."""
    try:
        return action()
    except ImportError as error:
        raise UnusableRequest(
            f"transformers cannot build '{configuration.model_type}' here: {_first_line(error)}"
        ) from None
    except Exception as error:  # noqa: BLE001 - a configuration may trip transformers anywhere
        field = re.match(r"Validation error for field '(\w+)'", str(error))
        known = field is not None and field[1] in configuration.data
        place = configuration.place
        raise InvalidInput(
            [
                Diagnostic(
                    UNUSABLE_MODEL_CONFIG,
                    f"transformers makes no model of this: {_last_line(error)}",
                    place.at(field[1]) if field is not None and known else place,
                )
            ]
        ) from None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _last_line(error: Exception) -> str:
    """Return what a validation error wraps, or the kind and the text of any other error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "alidation error" in lines[0] and len(lines) > 1:
        return lines[1]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
