"""Top-k and top-p: sampling from the likeliest tokens only.

Top-k keeps the k likeliest tokens, and any as likely as the last of them. Top-p (nucleus sampling, arXiv 1904.09751)
then keeps, of what is left and renormalized, the likeliest tokens whose probabilities reach p, at least one. Both come
after the temperature, in this order, as in transformers and vLLM.

Evaluations may truncate; training does not, since its loss needs the probabilities that tokens were sampled with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    top_p: float = 1.0  # 1 keeps all
    top_k: int = 0  # 0 keeps all

    @property
    def keeps_all(self) -> bool:
        return self.top_p >= 1 and self.top_k == 0

    def fields(self) -> dict[str, Any]:
        """Those that truncate, by the names that OpenAI-compatible servers have for them."""
        top_p = {"top_p": self.top_p} if self.top_p < 1 else {}
        return top_p | ({"top_k": self.top_k} if self.top_k else {})

    def probabilities(self, probs: Tensor) -> Tensor:
        """`probs` (N, V) without the tokens that are left out; rows no longer sum to 1."""
        if self.top_k and self.top_k < probs.shape[-1]:
            least = probs.topk(self.top_k, dim=-1).values[:, -1:]  # (N, 1)
            probs = probs.masked_fill(probs < least, 0)
        if self.top_p < 1:
            ordered, order = probs.sort(dim=-1, descending=True, stable=True)  # (N, V)
            likelier = ordered.cumsum(-1) - ordered  # of the tokens before each
            beyond = likelier >= self.top_p * ordered.sum(-1, keepdim=True)
            beyond[:, 0] = False
            probs = probs.masked_fill(beyond.scatter(-1, order, beyond), 0)
        return probs


NO_TRUNCATION = Truncation()
