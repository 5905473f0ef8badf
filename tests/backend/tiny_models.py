"""Tiny random models of every architecture in the installed transformers."""

import torch
import transformers
from tiny_configurations import tiny_configurations
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

LIMIT = 30_000_000  # parameters


def model_types():
    """Every model type that has an AutoModel."""
    return sorted(kind for kind, config in CONFIG_MAPPING.items() if config in MODEL_MAPPING)


def heads(config):
    """The AutoModelFor... classes that know this configuration, for base models that cannot be trained alone."""
    classes = (getattr(transformers, name) for name in dir(transformers) if name.startswith("AutoModelFor"))
    return [c for c in classes if type(config) in (getattr(c, "_model_mapping", None) or ())]


def build(auto, config):
    """A model with random weights; raises ValueError if it is too large."""
    with torch.device("meta"):
        size = sum(p.numel() for p in auto.from_config(config).parameters())
    if size > LIMIT:
        raise ValueError(f"more than {LIMIT // 10**6} M parameters ({size / 1e6:.0f} M)")
    torch.manual_seed(0)
    return auto.from_config(config)


def builds(kind):
    """Yields (model, None) or (None, error): the base model in one size after the other, then with heads."""
    buildable = None
    for configuration in tiny_configurations(kind):
        try:
            model, error = build(AutoModel, configuration()), None
            buildable = buildable or configuration
        except Exception as problem:
            model, error = None, problem
        yield model, error
    for head in heads(buildable()) if buildable else ():
        try:
            model, error = build(head, buildable()), None
        except Exception as problem:
            model, error = None, problem
        yield model, error
