"""Each setting does to the gradient what it says, not to the metrics alone.

Everything here is linear in the setting, so the expected result is that of another setting times a known number.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import RunConfig
from engine.rollout.batching import Batch, collate
from engine.rollout.trajectory_files import read_records
from engine.training.learner import Learner
from engine.training.session import EXIT_DONE, train
from engine.training.step_rollout import _without_variance
from engine.training.step_update import update
from tests.engine.models import small_model
from tests.engine.talker import save_talking_model
from tests.engine.training.builders import gradients, learner_config, made_up_batch
from tests.engine.training.test_group_record import episode
from tests.engine.training.test_runs import run_config

PLAIN = {"entropy_coefficient": 0.0}


def gradient(batch: Batch, *, reference: Any = None, scale: float = 1.0, **sections: Any) -> list[Tensor]:
    learner = Learner(small_model(), learner_config(**{"loss": PLAIN, **sections}), reference=reference)
    update(learner, batch, step=1, scale=scale)
    return gradients(learner.optimizer)


def assert_multiple(ones: list[Tensor], others: list[Tensor], factor: float) -> None:
    """Each of `ones` is `factor` times that of `others`."""
    largest = max(float(other.abs().max()) for other in others)
    assert largest > 1e-4
    for one, other in zip(ones, others, strict=True):
        torch.testing.assert_close(one, other * factor, atol=1e-5 * largest, rtol=1e-4)


def less(ones: list[Tensor], others: list[Tensor]) -> list[Tensor]:
    return [one - other for one, other in zip(ones, others, strict=True)]


def test_the_learner_scores_at_the_temperature_of_the_rollout() -> None:
    batch, model = made_up_batch(), small_model()
    found, _ = Learner(small_model(), learner_config(rollout={"temperature": 0.5})).score(batch)
    with torch.no_grad():
        logprobs = torch.log_softmax(model(batch.ids[:, :-1]).logits / 0.5, dim=-1)
    expected = logprobs.gather(-1, batch.ids[:, 1:, None]).squeeze(-1) * batch.mask[:, 1:]
    torch.testing.assert_close(found[:, 1:], expected, atol=1e-4, rtol=0)


def test_the_kl_penalty_is_multiplied_by_its_coefficient() -> None:
    batch, start = made_up_batch(), small_model(1)
    none, some, twice = (
        gradient(batch, reference=start, loss={**PLAIN, "kl_coefficient": coefficient}) for coefficient in (0, 0.1, 0.2)
    )
    assert_multiple(less(twice, none), less(some, none), 2.0)


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean_token_sum_norm"])
def test_entropy_bonus_and_kl_are_aggregated_like_the_loss(aggregation: str) -> None:
    # all three are means over the sampled tokens, or sums over them divided by rows and norm_length
    batch = made_up_batch()
    factor = {"token_mean": 1.0, "sequence_mean_token_sum_norm": float(batch.mask.sum()) / (len(batch) * 50)}
    how = {"type": aggregation, **({"norm_length": 50} if aggregation.endswith("norm") else {})}
    for term in ({"entropy_coefficient": 0.5}, {"kl_coefficient": 0.5}):
        silent = replace(batch, scores=torch.zeros(len(batch)))
        found, plain = (
            gradient(silent, reference=small_model(1), loss={**PLAIN, **term, "aggregation": chosen})
            for chosen in (how, {"type": "token_mean"})
        )
        assert_multiple(found, plain, factor[aggregation])


def test_the_entropy_bonus_acts_up_to_the_target_and_not_above() -> None:
    # trajectories of 1 and 2 nats a token weigh by their trained tokens; a target above every mean changes nothing
    made = made_up_batch()
    tokens = made.mask.sum(dim=1)
    batch = replace(made, entropies=torch.tensor([1.0, 2.0]).repeat(len(made))[: len(made)])
    mean = float((batch.entropies * tokens).sum() / tokens.sum())
    always, never, at_target, above = (
        gradient(batch, loss={"entropy_coefficient": coefficient, "entropy_target": target})
        for coefficient, target in ((0.5, 0), (0, 0), (0.5, mean + 0.01), (0.5, mean - 0.01))
    )
    assert_multiple(at_target, always, 1.0)
    assert_multiple(above, never, 1.0)
    assert max(float((one - other).abs().max()) for one, other in zip(always, never, strict=True)) > 1e-4


def test_the_entropy_coefficient_in_force_is_reported() -> None:
    batch = replace(made_up_batch(), entropies=torch.full((len(made_up_batch()),), 1.5))
    for target, expected in ((0.0, 0.5), (1.6, 0.5), (1.4, 0.0)):
        config = learner_config(loss={"entropy_coefficient": 0.5, "entropy_target": target})
        _, metrics = update(Learner(small_model(), config), batch, step=1, scale=1.0)
        assert metrics["optim/entropy_coefficient"] == expected


def test_importance_weights_multiply_the_gradient() -> None:
    # the sampler was ln 2 surer of each token than the learner: weights are 1/2
    batch = replace(made_up_batch(), rescored=True)
    surer = replace(batch, sampler_logprobs=batch.sampler_logprobs + math.log(2) * batch.mask)
    assert_multiple(gradient(surer), gradient(batch), 0.5)


def test_the_scale_of_the_filter_multiplies_the_gradient() -> None:
    batch = made_up_batch()
    assert_multiple(gradient(batch, scale=0.25), gradient(batch), 0.25)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_schedule_reaches_the_optimizer(schedule: str) -> None:
    config = learner_config(steps=4, optimizer={"schedule": {"type": schedule}})
    learner = Learner(small_model(), config)
    rates = []
    for step in range(1, 5):
        update(learner, made_up_batch(), step=step, scale=1.0)
        rates += [group["lr"] for group in learner.optimizer.param_groups]
    assert rates == sorted(rates, reverse=True) and rates[0] > 2 * rates[-1]


def test_a_learning_rate_of_0_leaves_the_weights_as_they_are() -> None:
    config = learner_config(steps=4, optimizer={"schedule": {"type": "linear"}})
    learner = Learner(small_model(), config)
    before = [weight.clone() for weight in learner.model.parameters()]
    update(learner, made_up_batch(), step=5, scale=1.0)  # after the last step the linear schedule is at 0
    assert all(torch.equal(one, other) for one, other in zip(before, learner.model.parameters(), strict=True))


def test_groups_of_equal_returns_are_refilled_and_no_others() -> None:
    # of groups of two steps of three, 1 and 5 have equal returns: places 1 and 2 of the step's three
    returns = {0: (1.0, 0.0), 1: (1.0, 1.0), 2: (0.0, 1.0), 5: (0.0, 0.0)}
    played = [episode(group, member, value) for group, two in returns.items() for member, value in enumerate(two)]
    assert _without_variance(played, groups=3) == [1, 2]


def test_remax_compares_each_trajectory_with_the_greedy_episode_of_its_own_group() -> None:
    played = [episode(group, member, float(member)) for group in (4, 7) for member in range(2)]
    batch = collate(played, baselines={7: 0.25, 4: 1.5})
    assert batch.baselines.tolist() == [1.5, 1.5, 0.25, 0.25]
    credit = learner_config(algorithm={"type": "remax"}).algorithm.assign(batch, None)
    # scores 0, 1, 0, 1 less 1.5, 1.5, 0.25, 0.25, on the sampled token
    assert credit.advantages[:, 1].tolist() == [-1.5, -0.5, -0.25, 0.75]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_talking_model(tmp_path_factory.mktemp("model"))


def one_step(model: Path, directory: Path, **changes: Any) -> dict[str, dict[str, Any]]:
    """The recorded trajectories of a run of one step, by id."""
    config: RunConfig = run_config(
        model,
        steps=1,
        rollout={"groups": 6, "group_size": 4},
        evaluation={"every": 0, "final_episodes": 1},
        diagnostics={"every": 0},
        **{"algorithm": {"type": "rloo"}, **changes},
    )
    assert train(config, directory) == EXIT_DONE
    (file,) = (directory / "trajectories" / "train").glob("*.zst")
    return {record["id"]: record for _, _, record in read_records(file)}


def trained(records: dict[str, dict[str, Any]]) -> dict[str, float]:
    return {name: record["advantage"] for name, record in records.items() if record["advantage"]}


@pytest.mark.slow
def test_a_run_scales_its_advantages_by_the_share_of_groups_kept(model: Path, tmp_path: Path) -> None:
    half = {"type": "top_k", "value": 0.5}
    plain = trained(one_step(model, tmp_path / "plain", filter=half))
    scaled = trained(one_step(model, tmp_path / "scaled", filter={**half, "loss_scaling": "linear"}))
    kept = len({name.rsplit("-", 1)[0] for name in plain})
    assert 0 < kept <= 3
    assert scaled == pytest.approx({name: value * kept / 6 for name, value in plain.items()}, abs=1e-4)


@pytest.mark.slow
def test_a_run_trains_on_normalized_scores(model: Path, tmp_path: Path) -> None:
    normalization = {"type": "mean_std", "among": "batch"}
    credit = {"type": "trajectory", "normalization": normalization}
    raw = one_step(model, tmp_path / "raw")
    found = one_step(model, tmp_path / "normalized", algorithm={"type": "rloo", "credit": credit})
    std = float(torch.tensor([record["score"] for record in raw.values()]).std())
    assert std > 0.05
    # RLOO compares scores and does not divide by their standard deviation, so all of its advantages are 1 / std larger
    assert trained(found) == pytest.approx({name: value / std for name, value in trained(raw).items()}, abs=1e-3)
