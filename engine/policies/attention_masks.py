"""Which columns each layer of a model may read, by the kind of its attention.

Most models attend to everything before a token. Some, or some of their layers, read only the last tokens (Mistral,
arXiv 2310.06825; Gemma 2, arXiv 2408.00118). A kind that is not known is refused: sampling
with another mask than the model's own gives other probabilities and no error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from engine.errors import ModelError

Mask = Callable[[Any, Tensor, Tensor], Tensor]


def _full(_: Any, positions: Tensor, columns: Tensor) -> Tensor:
    return columns <= positions


def _sliding(config: Any, positions: Tensor, columns: Tensor) -> Tensor:
    window: int = config.sliding_window
    return (columns <= positions) & (columns > positions - window)


MASKS: dict[str, Mask] = {"full_attention": _full, "sliding_attention": _sliding}


def attention_kinds(config: Any) -> list[str]:
    """The kinds of attention in a model's layers, by transformers' names. `ModelError` where one is not known."""
    text = config.get_text_config()
    layers = getattr(text, "layer_types", None)
    if not layers:
        return ["sliding_attention" if getattr(text, "sliding_window", None) else "full_attention"]
    kinds = sorted(set(layers))
    if unknown := [kind for kind in kinds if kind not in MASKS]:
        raise ModelError(
            f"Layers of {text.model_type} have the attention {', '.join(unknown)}, which cannot be sampled from here.",
            remedy=f"Use a model whose layers have {', '.join(MASKS)}.",
        )
    return kinds


def attention_mask(config: Any, positions: Tensor, columns: Tensor) -> Tensor | dict[str, Tensor]:
    """True where the token at `positions` (N, Q) may read a column of `columns` (K,): (N, 1, Q, K).

    One mask if all layers have the same kind of attention, else one by kind, as transformers' models take them.
    """
    text, rows = config.get_text_config(), positions[:, None, :, None]
    masks = {kind: MASKS[kind](text, rows, columns) for kind in attention_kinds(config)}
    return masks if len(masks) > 1 else next(iter(masks.values()))
