"""Mutual information of prompt and reasoning, estimated from a matrix of cross log-likelihoods (arXiv 2604.06268).

With M reasonings scored under N prompts, in-batch contrast gives `I(X; Z)` up to a ceiling of ln N. Whether each
reasoning is likeliest under its own prompt (retrieval) is the same question without logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MutualInformation:
    """Estimates in nats. Sequence quantities sum over a reasoning's tokens; `_token` ones divide by its length.

    `reasoning_entropy = conditional_entropy + mi` holds exactly. `mi_token_compat` is RAGEN's number: a contrast of
    length-normalised scores, which is not a mutual information.
    """

    samples: int
    prompts: int
    mi: float
    ceiling: float  # ln N: no estimate from N prompts can pass it
    conditional_entropy: float  # H(Z|X) of a whole reasoning
    reasoning_entropy: float  # H(Z)
    conditional_entropy_token: float
    retrieval_accuracy: float
    retrieval_chance: float
    mi_token_compat: float
    reasoning_entropy_token_compat: float
    zscore: float
    zscore_token_compat: float

    def to_metrics(self) -> dict[str, float]:
        return {
            "collapse/mi_sequence": self.mi,
            "collapse/mi_ratio": self.mi / self.ceiling if self.ceiling else 0.0,
            "collapse/mi_ceiling": self.ceiling,
            "collapse/mi_zscore": self.zscore,
            "collapse/mi_token_compat": self.mi_token_compat,
            "collapse/conditional_entropy": self.conditional_entropy,
            "collapse/conditional_entropy_token": self.conditional_entropy_token,
            "collapse/reasoning_entropy": self.reasoning_entropy,
            "collapse/retrieval_accuracy": self.retrieval_accuracy,
            "collapse/retrieval_chance": self.retrieval_chance,
            "collapse/retrieval_above_chance": self.retrieval_accuracy - self.retrieval_chance,
            "collapse/samples": float(self.samples),
            "collapse/prompts": float(self.prompts),
        }


def estimate(
    log_likelihood: ArrayLike, lengths: ArrayLike, true_column: ArrayLike, signatures: ArrayLike | None = None
) -> MutualInformation:
    """`log_likelihood` (M, N): summed log p(z_i | x_j) in nats; `lengths` (M,) tokens; `true_column` (M,) in [0, N).

    `signatures` (N,) tells equal prompts: columns with one signature count as one answer in retrieval. Ties go to the
    first column. Raises `ValueError` below two prompts or without a reasoning.
    """
    scores = np.asarray(log_likelihood, dtype=np.float64)
    columns = np.asarray(true_column, dtype=np.int64)
    sizes = np.asarray(lengths, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] == 0 or scores.shape[1] < 2:
        raise ValueError(f"log_likelihood has the shape {scores.shape}; give (M, N) with M >= 1 and N >= 2.")
    marks = np.arange(scores.shape[1]) if signatures is None else np.asarray(signatures)
    per_token = scores / sizes[:, None]
    matched, marginal, zscore = _contrast(scores, columns)
    token_matched, token_marginal, token_zscore = _contrast(per_token, columns)
    hits = marks[per_token.argmax(axis=1)] == marks[columns]
    chance = (marks[None, :] == marks[columns][:, None]).mean(axis=1)
    return MutualInformation(
        samples=scores.shape[0],
        prompts=scores.shape[1],
        mi=float((matched - marginal).mean()),
        ceiling=math.log(scores.shape[1]),
        conditional_entropy=float(-matched.mean()),
        reasoning_entropy=float(-marginal.mean()),
        conditional_entropy_token=float(-token_matched.mean()),
        retrieval_accuracy=float(hits.mean()),
        retrieval_chance=float(chance.mean()),
        mi_token_compat=float((token_matched - token_marginal).mean()),
        reasoning_entropy_token_compat=float(-token_marginal.mean()),
        zscore=zscore,
        zscore_token_compat=token_zscore,
    )


def _contrast(scores: Floats, columns: NDArray[np.int64]) -> tuple[Floats, Floats, float]:
    """Each reasoning's score under its own prompt, its log-mean over all prompts, and the mean z-score of the gap."""
    matched = scores[np.arange(len(scores)), columns]
    top = scores.max(axis=1, keepdims=True)
    marginal = np.log(np.exp(scores - top).mean(axis=1)) + top[:, 0]
    zscore = float(((matched - marginal) / (marginal.std() + 1e-3)).mean())
    return matched, marginal, zscore
