"""The configuration of a model on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.models.config import ModelConfig


def read_model_config(output: Output, path: str, taker: str) -> ModelConfig:
    """Return the configuration at a path, or in the folder there.

    Raises what reading does, UnusableRequest for a document of another kind,
    and InvalidInput for one that is about no model.
    """
    from hpplan.documents.reader import read_document
    from hpplan.models.config import load_config, path_of
    from hpplan.validation.kinds import take

    document = read_document(path_of(path), output.sources)
    take(document, taker, "model-config")
    configuration = load_config(document)
    if "auto_map" in configuration.data:
        output.complain(
            f"Note: {document.source.name} names code of its own (`auto_map`); "
            "only transformers' own model is looked at."
        )
    return configuration
