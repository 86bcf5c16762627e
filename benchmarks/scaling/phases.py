"""The parts of a step, and the work that each is made of. A part's seconds are the sum of its terms, each times a cost.

Parts follow one another, but for the environment, which is part of sampling. Terms are of the process that has most of
them; what grows with the number of processes is a term of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.operations import forward_operations, update_operations
from benchmarks.scaling.steps import Step
from engine.policies.model_shape import ModelShape

Work = Callable[[ModelShape, Step], float]
PROMPTS, THOUGHTS, THOUGHT = 8, 16, 30  # of the diagnostics: prompts, thoughts, and tokens of each of these
PROMPT = 100  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Seconds for each unit of `work`."""

    unit: str
    work: Work


def sharded(step: Step) -> int:
    return int(step.learners > 1)


def sampling_operations(shape: ModelShape, step: Step) -> float:
    """Of the busiest sampler: what it reads, and logits of what it samples."""
    return step.sampler_share * forward_operations(shape, tokens=step.read, length=step.length, scored=step.sampled)


def learning_operations(shape: ModelShape, step: Step) -> float:
    return step.learner_share * update_operations(shape, tokens=step.tokens, length=step.length, scored=step.sampled)


def borrowed_numbers(shape: ModelShape, step: Step) -> float:
    """Numbers that a learner has from others or gives to them in an update: weights there and back, and gradients."""
    return sharded(step) * step.rounds * 3.0 * shape.parameters * (1 - 1 / step.learners)


def diagnostic_operations(shape: ModelShape, step: Step) -> float:
    """Each learner computes all of it, however many there are."""
    tokens = PROMPTS * (PROMPT + THOUGHTS * THOUGHT)
    return forward_operations(shape, tokens=tokens, length=PROMPT + THOUGHT, scored=PROMPTS * THOUGHTS * THOUGHT)


PARTS: dict[str, dict[str, Term]] = {
    "environment": {
        "turns": Term(unit="turn of a sampler", work=lambda shape, step: step.sampler_share * step.turns),
    },
    "sampling": {
        "passes": Term(unit="layer of a pass", work=lambda shape, step: step.passes * shape.layers),
        "operations": Term(unit="operation of a sampler", work=sampling_operations),
        "words": Term(
            unit="word of the vocabulary and token of a sampler",
            work=lambda shape, step: step.sampler_share * step.sampled * shape.vocabulary,
        ),
        "tokens": Term(unit="sampled token of a sampler", work=lambda shape, step: step.sampler_share * step.sampled),
    },
    "scoring": {
        "layers": Term(unit="layer of a micro-batch", work=lambda shape, step: step.rounds * shape.layers),
        "operations": Term(
            unit="operation of a learner", work=lambda shape, step: learning_operations(shape, step) / 3
        ),
        "words": Term(
            unit="word of the vocabulary and token of a learner",
            work=lambda shape, step: step.learner_share * step.sampled * shape.vocabulary,
        ),
        "borrowed": Term(
            unit="number from another learner", work=lambda shape, step: borrowed_numbers(shape, step) / 3
        ),
    },
    "learning": {
        "layers": Term(unit="layer of a micro-batch", work=lambda shape, step: step.rounds * shape.layers),
        "operations": Term(unit="operation of a learner", work=learning_operations),
        "words": Term(
            unit="word of the vocabulary and token of a learner",
            work=lambda shape, step: step.learner_share * step.sampled * shape.vocabulary,
        ),
        "borrowed": Term(unit="number from or to another learner", work=borrowed_numbers),
        "stepped": Term(
            unit="parameter of a learner's shard", work=lambda shape, step: shape.parameters / step.learners
        ),
    },
    "sync": {
        "once": Term(unit="sync", work=lambda shape, step: 1.0),
        "weights": Term(unit="parameter", work=lambda shape, step: shape.parameters),
        "gathered": Term(unit="parameter that was sharded", work=lambda shape, step: sharded(step) * shape.parameters),
    },
    "diagnostics": {
        "passes": Term(unit="layer of a pass", work=lambda shape, step: 2 * PROMPTS * shape.layers),
        "operations": Term(unit="operation", work=diagnostic_operations),
        "sharded": Term(
            unit="layer of a pass, sharded", work=lambda shape, step: sharded(step) * 2 * PROMPTS * shape.layers
        ),
    },
    "driver": {
        "tokens": Term(unit="token", work=lambda shape, step: step.tokens),
        "calls": Term(unit="actor", work=lambda shape, step: step.samplers + step.learners),
    },
    "capture": {"tokens": Term(unit="token", work=lambda shape, step: step.tokens)},
    "indexing": {"tokens": Term(unit="token, in the site's worker", work=lambda shape, step: step.tokens)},
}  # fmt: skip


def work_of(part: str, shape: ModelShape, step: Step) -> list[float]:
    return [term.work(shape, step) for term in PARTS[part].values()]


def seconds_of(part: str, found: dict[str, dict[str, float]], shape: ModelShape, step: Step) -> float:
    """Of a part by the costs of its terms."""
    return sum(found[part][name] * term.work(shape, step) for name, term in PARTS[part].items())
