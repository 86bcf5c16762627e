"""Reads a model's configuration, without what it says about which code computes the model.

`_attn_implementation` and `_experts_implementation` in a `config.json` come before transformers' own arguments, and may
name a repository of kernels, which transformers would download and run.
"""

from __future__ import annotations

from typing import Any

from engine.policies.model_paths import model_revision, model_source


def model_config(path: str) -> Any:
    """transformers' configuration of the model; `path` as for `load_model`."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(model_source(path), revision=model_revision(path), trust_remote_code=False)
    config._attn_implementation = None  # and those of its parts
    config._experts_implementation = None
    return config
