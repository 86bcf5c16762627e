"""The memory that gradients by loss term are said to need: by hand, and against real ones."""

from __future__ import annotations

from typing import Any

import pytest

from engine.cluster.checks import Machine, check_machine
from engine.cluster.learner_memory import learner_memory
from engine.cluster.local_memory import estimate_local
from engine.config import RunConfig, build_config
from engine.policies.model_shape import model_shape
from engine.training.gradient_probe import gradient_metrics
from engine.training.learner import Learner
from tests.engine.cluster.memory_shapes import of_learner
from tests.engine.cluster.test_memory_of_real_learners import moments_of, policy_of
from tests.engine.models import small_model
from tests.engine.peak_bytes import PeakBytes
from tests.engine.training.builders import made_up_batch

BOTH = {"entropy_coefficient": 0.01, "kl_coefficient": 0.1}
ROWS, LENGTH = 16, 120


def test_a_gradient_of_each_term_is_held_beside_the_one_that_is_added() -> None:
    # 4 bytes for each of 236 weights, or of the 128 of an adapter of rank 2
    found, plain = of_learner(loss_terms=3), of_learner()
    assert (found.by_term, found.total, found.certain) == (3 * 944, plain.total + 3 * 944, plain.certain + 3 * 944)
    assert of_learner(loss_terms=3, lora_rank=2).by_term == 3 * 4 * 128
    assert ("gradients of each loss term", 3 * 944) in found.parts()


def of_tiny(**sections: Any) -> RunConfig:
    return build_config({"model": {"path": "tiny"}, **sections})


def test_terms_are_those_with_a_coefficient_and_none_where_nothing_is_decomposed() -> None:
    shape = model_shape("tiny")

    def terms(every: int, **loss: float) -> int:
        config = of_tiny(loss=loss, diagnostics={"gradients_every": every})
        found = estimate_local(config, shape, gpu=False).learner
        return found.by_term // found.gradients

    assert terms(5, **BOTH) == 3
    assert terms(5, entropy_coefficient=0.01, kl_coefficient=0) == 2
    assert terms(5, entropy_coefficient=0, kl_coefficient=0) == 1
    assert terms(0, **BOTH) == 0


def test_to_turn_decompositions_off_is_proposed_where_a_run_then_fits() -> None:
    more: dict[str, Any] = {
        "loss": BOTH,
        "optimizer": {"micro_batch_tokens": 4096},
        "rollout": {"rows_at_once": 1},  # so that the update takes most
        "evaluation": {"episodes_at_once": 1},
    }
    config, without = (of_tiny(**more, diagnostics={"gradients_every": every}) for every in (5, 0))
    room = estimate_local(without, model_shape("tiny"), gpu=False).total
    found = check_machine(config, Machine(gpus=(), memory=room))
    assert {"diagnostics.gradients_every": 0} in [one.changes for one in found.alternatives]


@pytest.mark.parametrize(
    "sections",
    [{}, {"model": {"lora": {"rank": 8}}}, {"optimizer": {"gradient_checkpointing": True}}],
    ids=["all weights", "an adapter", "activations that are computed again"],
)
def test_a_real_decomposition_takes_what_was_estimated(sections: dict[str, Any]) -> None:
    """From 0.9 to 1.2 times what it takes at its peak. That is less than of an update, which frees its graph as it goes
    and has room there for gradients of activations; here the graph is kept for the next term."""
    model, shape, config = policy_of(loss=BOTH, **sections)
    learner = Learner(model, config, reference=small_model(4, width=64))
    batch = made_up_batch((LENGTH,) * ROWS)
    batch.groups.zero_()  # one group, which goes through the model at once
    found = learner_memory(
        shape,
        tokens=ROWS * LENGTH,
        sampled=int(batch.mask.sum()),
        lora_rank=config.model.lora.rank,
        checkpointing=config.optimizer.gradient_checkpointing,
        loss_terms=3,
    )
    gradient_metrics(learner, batch, config)
    held = [*learner.model.parameters(), *moments_of(learner.optimizer), *learner.model.buffers()]
    with PeakBytes(held) as peak:
        gradient_metrics(learner, batch, config)
    assert 0.9 < (found.gradients + found.by_term + found.activations) / peak.bytes < 1.2
