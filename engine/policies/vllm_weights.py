"""How a learner's weights get into vLLM: which are expected, and how vLLM's workers load them.

vLLM itself does not report missing weights, and its CPU build keeps the old output layer if that is tied to the
embedding, and does not pack new weights of experts. All of it is handled here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from engine.errors import ModelError
from engine.policies.weight_checksums import WeightChecksum, model_checksums

Part = list[tuple[str, Tensor]]
NAMES_SHOWN = 5
REMEDY = (
    "Give all parameters of the model under the names of its Hugging Face class, as its named_parameters() or "
    "state_dict() does; merge adapters first."
)


class ExpectedWeights:
    """Names and shapes of a model's parameters in its Hugging Face class. Tied ones are expected once and may come
    twice."""

    def __init__(self, config: Any) -> None:
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
        self.names = {name for name, _ in model.named_parameters()}
        self.shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}

    def parts(self, weights: Iterable[tuple[str, Tensor]], *, part_bytes: int) -> Iterable[Part]:
        """`weights` in parts of about `part_bytes` each. `ModelError` for one that is unknown or of the wrong shape,
        and at the end for missing ones."""
        missing, part, size = set(self.names), [], 0
        for name, tensor in weights:
            self.check(name, tuple(tensor.shape))
            missing.discard(name)
            part.append((name, tensor.detach()))
            size += tensor.nbytes
            if size >= part_bytes:
                yield part
                part, size = [], 0
        if part:
            yield part
        self.check_complete(missing)

    def check_complete(self, missing: set[str]) -> None:
        if missing:
            raise ModelError(
                f"{len(missing)} of {len(self.names)} weights are missing: {_some(missing)}.", remedy=REMEDY
            )

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        if name not in self.shapes:
            raise ModelError(f"The model has no weight {name!r}; it has {_some(self.names)}.", remedy=REMEDY)
        if shape != self.shapes[name]:
            raise ModelError(
                f"The weight {name!r} has shape {shape}, and the model expects {self.shapes[name]}.",
                remedy="Load weights of the model that the sampler was started with.",
            )


def _some(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:NAMES_SHOWN]) + (
        f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    )


class WeightLoading:
    """Mixed into vLLM's workers by name, so that each loads its share of the weights: begin, some parts, end."""

    model_runner: Any
    model_config: Any
    vllm_config: Any

    def quiet_reload(self) -> None:
        """Silences vLLM's warning about layers without new weights, such as position embeddings, which have none;
        `ExpectedWeights` reports missing ones."""
        from vllm.model_executor.model_loader.reload import finalize_layerwise_reload

        logging.getLogger(finalize_layerwise_reload.__module__).setLevel(logging.ERROR)

    def begin_weights(self) -> None:
        from vllm.config import set_current_vllm_config
        from vllm.model_executor.model_loader.reload import initialize_layerwise_reload
        from vllm.platforms import current_platform

        model = self.model_runner.get_model()
        if current_platform.is_cpu():
            pack_experts_again(model)
        with set_current_vllm_config(self.vllm_config):
            initialize_layerwise_reload(model)

    def load_part(self, part: Part) -> None:
        from vllm.config import set_current_vllm_config

        with set_current_vllm_config(self.vllm_config):
            self.model_runner.get_model().load_weights(part)

    def sum_weights(self) -> dict[str, WeightChecksum]:
        """Checksums, without the rows that vLLM adds to a vocabulary."""
        return model_checksums(own_rows(self.model_runner.get_model()))

    def end_weights(self) -> None:
        """Ends the update. Layers without new weights keep their old ones."""
        from vllm.config import set_current_vllm_config
        from vllm.model_executor.model_loader.reload import finalize_layerwise_reload
        from vllm.platforms import current_platform

        self.quiet_reload()
        model = self.model_runner.get_model()
        with set_current_vllm_config(self.vllm_config):
            finalize_layerwise_reload(model, self.model_config)
            if current_platform.is_cpu():
                pack_output_layers(model)
            else:
                torch.accelerator.synchronize()


def own_rows(model: Any) -> Iterator[Tensor]:
    """Each parameter once, without the padding rows of vocabularies."""
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    vocabularies = [layer for layer in model.modules() if isinstance(layer, VocabParallelEmbedding)]
    rows = {id(weight): layer.org_vocab_size for layer in vocabularies for weight in layer.parameters()}
    for weight in model.parameters():
        yield weight[: rows.get(id(weight))] if weight.dim() else weight


def pack_experts_again(model: Any) -> None:
    """Lets the CPU build pack the weights of experts as it did when it loaded them, which it does only where their
    kernel is new: new ones would be read in the packed order without being in it."""
    from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase

    for layer in model.modules():
        method = getattr(layer, "quant_method", None)
        if isinstance(method, FusedMoEMethodBase):
            method.moe_kernel = None


def pack_output_layers(model: Any) -> None:
    """Updates the CPU build's packed copy of the output layer, which it renews only for weights under that layer's own
    name. A tied layer has none, so its copy would stay old."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead, UnquantizedEmbeddingMethod

    for layer in model.modules():
        if isinstance(layer, ParallelLMHead) and isinstance(layer.quant_method, UnquantizedEmbeddingMethod):
            layer.quant_method.process_weights_after_loading(layer)
