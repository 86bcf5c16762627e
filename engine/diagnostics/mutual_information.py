"""Mutual information of prompt and reasoning, estimated from a matrix of cross log-likelihoods (arXiv 2604.06268).

With M reasonings scored under N prompts, in-batch contrast gives `I(X; Z)` up to a ceiling of ln N. Whether each
reasoning is likeliest under its own prompt (retrieval) is the same question without logarithms. Where there are several
environments, a reasoning is contrasted with prompts of its own alone: to distinguish environments is no reasoning about
a state. Only arithmetic here: scores come from `cross_scores`. No torch.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ARGMAX_SLACK = 1e-9
TOP = (2, 4, 8)  # how many columns retrieval may name
ZSCORE_SLACK = 1e-3
EMA_DECAY = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class MutualInformation:
    """Estimates in nats. Sequence quantities sum over a reasoning's tokens; `_token` ones divide by its length.

    `reasoning_entropy = conditional_entropy + mi` holds exactly. Sampling noise can take `mi` a little below 0.
    The `_compat` numbers are RAGEN's: a contrast of length-normalised scores, which is not a mutual information.
    z-scores divide by the std of the marginals plus 1e-3, and grow without bound as that goes to 0.
    """

    samples: int
    prompts: int
    mi: float
    ceiling: float  # ln N: no estimate from N prompts can pass it; of several environments its mean over reasonings
    conditional_entropy: float  # H(Z|X) of a whole reasoning
    reasoning_entropy: float  # H(Z)
    conditional_entropy_token: float
    retrieval_accuracy: float
    retrieval_chance: float
    mi_token_compat: float
    reasoning_entropy_token_compat: float
    retrieval_at: dict[int, float]  # k: share whose own prompt is among the k likeliest
    chance_at: dict[int, float]  # k: what guessing k prompts would reach
    zscore: float
    zscore_token_compat: float
    marginal_std: float
    marginal_std_token_compat: float

    def to_metrics(self) -> dict[str, float]:
        """By the glossary's names."""
        return {
            "collapse/mi_sequence": self.mi,
            "collapse/mi_ratio": self.mi / self.ceiling if self.ceiling else 0.0,
            "collapse/mi_ceiling": self.ceiling,
            "collapse/mi_zscore": self.zscore,
            "collapse/marginal_std": self.marginal_std,
            "collapse/mi_token_compat": self.mi_token_compat,
            "collapse/mi_zscore_token_compat": self.zscore_token_compat,
            "collapse/marginal_std_token_compat": self.marginal_std_token_compat,
            "collapse/matched_logprob_token": -self.conditional_entropy_token,
            "collapse/marginal_logprob_token_compat": -self.reasoning_entropy_token_compat,
            "collapse/conditional_entropy": self.conditional_entropy,
            "collapse/conditional_entropy_token": self.conditional_entropy_token,
            "collapse/reasoning_entropy": self.reasoning_entropy,
            "collapse/reasoning_entropy_token_compat": self.reasoning_entropy_token_compat,
            "collapse/retrieval_accuracy": self.retrieval_accuracy,
            "collapse/retrieval_chance": self.retrieval_chance,
            "collapse/retrieval_above_chance": self.retrieval_accuracy - self.retrieval_chance,
            "collapse/samples": float(self.samples),
            "collapse/prompts": float(self.prompts),
            **self._retrieval_metrics(),
        }

    def _retrieval_metrics(self) -> dict[str, float]:
        found = {}
        for k, accuracy in self.retrieval_at.items():
            chance = self.chance_at[k]
            found[f"collapse/retrieval_accuracy_at_{k}"] = accuracy
            found[f"collapse/retrieval_chance_at_{k}"] = chance
            found[f"collapse/retrieval_above_chance_at_{k}"] = accuracy - chance
        return found


@dataclass(slots=True)
class SmoothedZScore:
    """z-scores over a moving std of the marginals: RAGEN smooths the divisor, not the score.

    The std moves a tenth of the way to each new one and begins at the first. Its state belongs in a checkpoint.
    """

    stds: dict[str, float] = field(default_factory=dict)

    def observe(self, found: MutualInformation) -> dict[str, float]:
        """The smoothed stds and scores after one more estimate, by the glossary's names."""
        metrics = {}
        for suffix, mi, std in (
            ("", found.mi, found.marginal_std),
            ("_token_compat", found.mi_token_compat, found.marginal_std_token_compat),
        ):
            before = self.stds.get(suffix, std)
            self.stds[suffix] = EMA_DECAY * before + (1 - EMA_DECAY) * std
            metrics[f"collapse/marginal_std_ema{suffix}"] = self.stds[suffix]
            metrics[f"collapse/mi_zscore_ema{suffix}"] = mi / (self.stds[suffix] + ZSCORE_SLACK)
        return metrics


def estimate(
    log_likelihood: Any,
    lengths: Any,
    true_column: Any,
    signatures: Sequence[Hashable] | None = None,
    *,
    environments: Sequence[Hashable] | None = None,
) -> MutualInformation:
    """What M reasonings scored under N prompts say about their dependence on the prompt.

    `log_likelihood` (M, N): summed `ln p(z_i | x_j)`; `lengths` (M,): tokens of z_i, at least 1; `true_column` (M,):
    the prompt that z_i was sampled under. Arrays, CPU tensors or lists. `signatures` (N,) tell equal prompts: columns
    with one signature count as one answer in retrieval. Ties go to the first column. With c(i) the true column:

        matched_i  = L[i, c(i)]                    H(Z|X) = -mean matched
        marginal_i = ln (1/N) sum_j exp L[i, j]    H(Z)   = -mean marginal      I = mean (matched - marginal) <= ln N

    `environments` (N,) says whose each prompt is; None is one for all. The sums over j, N and retrieval are then of
    the columns whose environment is that of c(i), and the ceiling is the mean of ln N over reasonings. One whose
    environment has no other prompt adds 0 to both.

    `estimate([[-1, -9], [-9, -1]], [1, 1], [0, 1]).mi` is 0.6928, just under ln 2. `ValueError` when there is nothing
    to contrast: fewer than two prompts, or no reasoning.
    """
    scores, sizes, columns = _checked(log_likelihood, lengths, true_column)
    marks = _marks(signatures, scores.shape[1], "signatures")
    tags = _marks(environments or [0] * scores.shape[1], scores.shape[1], "environments")
    open_to = tags[None, :] == tags[columns][:, None]  # (M, N) columns that a reasoning is contrasted with
    counts = open_to.sum(axis=1)  # (M,)
    scores = np.where(open_to, scores, -np.inf)
    per_token = scores / sizes[:, None]
    matched, marginal = _contrast(scores, columns, counts)
    token_matched, token_marginal = _contrast(per_token, columns, counts)
    same = (marks[None, :] == marks[columns][:, None]) & open_to  # (M, N) whether a column counts as its own
    chances, share = _shares(same.sum(axis=1) / counts)
    widths, weight = _shares(counts)
    return MutualInformation(
        samples=scores.shape[0],
        prompts=scores.shape[1],
        mi=float((matched - marginal).mean()),
        ceiling=float(sum(math.log(width) * part for width, part in zip(widths, weight, strict=True))),
        conditional_entropy=float(-matched.mean()),
        reasoning_entropy=float(-marginal.mean()),
        conditional_entropy_token=float(-token_matched.mean()),
        retrieval_accuracy=float(same[np.arange(len(scores)), _first_best(scores)].mean()),
        retrieval_chance=float(chances @ share),
        retrieval_at={k: _found_in_top(scores, same, k) for k in TOP},
        chance_at={k: float(np.minimum(1.0, k * chances) @ share) for k in TOP},
        mi_token_compat=float((token_matched - token_marginal).mean()),
        reasoning_entropy_token_compat=float(-token_marginal.mean()),
        zscore=_zscore(matched, marginal),
        zscore_token_compat=_zscore(token_matched, token_marginal),
        marginal_std=float(marginal.std()),
        marginal_std_token_compat=float(token_marginal.std()),
    )


def _checked(log_likelihood: Any, lengths: Any, true_column: Any) -> tuple[Floats, Floats, Integers]:
    scores = np.asarray(log_likelihood, dtype=np.float64)
    sizes = np.asarray(lengths, dtype=np.float64)
    columns = np.asarray(true_column, dtype=np.int64)
    if scores.ndim != 2 or scores.shape[0] == 0 or scores.shape[1] < 2:
        raise ValueError(f"log_likelihood has the shape {scores.shape}; give (M, N) with M >= 1 and N >= 2.")
    if sizes.shape != (len(scores),) or columns.shape != (len(scores),):
        raise ValueError(
            f"lengths {sizes.shape} and true_column {columns.shape} need one entry for each of {len(scores)} "
            "reasonings."
        )
    if (sizes < 1).any():
        raise ValueError("lengths holds a number below 1; leave empty reasonings out.")
    if (columns < 0).any() or (columns >= scores.shape[1]).any():
        raise ValueError(f"true_column must lie between 0 and {scores.shape[1] - 1}.")
    return scores, sizes, columns


def _marks(signatures: Sequence[Hashable] | None, count: int, what: str) -> Integers:
    """(N,) the first column with the same signature."""
    if signatures is None:
        return np.arange(count)
    if len(signatures) != count:
        raise ValueError(f"{what} has {len(signatures)} entries for {count} prompts; give one for each.")
    first: dict[Hashable, int] = {}
    return np.array([first.setdefault(signature, column) for column, signature in enumerate(signatures)])


def _shares(values: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
    """The different values there are, and what share of all each has: their mean without a sum of many roundings."""
    different, counts = np.unique(values, return_counts=True)
    return different, counts / len(values)


def _contrast(scores: Floats, columns: Integers, counts: Integers) -> tuple[Floats, Floats]:
    """Each reasoning's score under its own prompt, and its log-mean over the `counts` prompts it is open to."""
    matched = scores[np.arange(len(scores)), columns]
    top = scores.max(axis=1)
    marginal = np.log(np.exp(scores - top[:, None]).sum(axis=1) / counts) + top
    return matched, marginal


def _first_best(scores: Floats) -> Integers:
    """(M,) the likeliest column; scores that differ by rounding only are a tie, and the first column has it."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray((scores >= top - ARGMAX_SLACK * np.maximum(1.0, np.abs(top))).argmax(axis=1))


def _found_in_top(scores: Floats, same: NDArray[np.bool_], k: int) -> float:
    """Share of reasonings with a column of their own among the `k` likeliest; ties go to the first columns."""
    top = np.argsort(-scores, axis=1, kind="stable")[:, : min(k, scores.shape[1])]
    return float(np.take_along_axis(same, top, axis=1).any(axis=1).mean())


def _zscore(matched: Floats, marginal: Floats) -> float:
    return float(((matched - marginal) / (marginal.std() + ZSCORE_SLACK)).mean())
