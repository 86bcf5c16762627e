"""Estimators and losses against verl's published functions, from fixtures that `benchmarks/reference_vectors` wrote.

Where ours differ on purpose: what gae and remax hold on unsampled tokens (it is not used, and the fixture has it
cleared), and the constant of sequence_mean_token_sum_norm, which verl takes from the padded width by default.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.algorithms import advantages, losses
from engine.algorithms.losses import AGGREGATIONS, KlKind

FIXTURE = json.loads((Path(__file__).parent / "reference" / "verl.json").read_text())
CASES = pytest.mark.parametrize("case", FIXTURE["cases"], ids=["rewards", "zero rewards"])


def given(case: dict[str, Any]) -> dict[str, Tensor]:
    return {name: torch.tensor(value) for name, value in case["given"].items()}


def close(found: Tensor, case: dict[str, Any], name: str) -> None:
    torch.testing.assert_close(found, torch.tensor(case["expected"][name]), atol=2e-5, rtol=1e-4)


@CASES
def test_gae_and_its_targets(case: dict[str, Any]) -> None:
    x = given(case)
    found, returns = advantages.gae(x["rewards"], x["values"], x["mask"], gamma=0.9, lam=0.95)
    close(advantages.whiten(found, x["mask"]) * x["mask"], case, "gae")
    close(returns * x["mask"], case, "gae_returns")


@CASES
@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo", "remax", "reinforce_plus_plus_baseline"])
def test_estimators_of_whole_scores(case: dict[str, Any], name: str) -> None:
    x, groups = given(case), torch.tensor(case["groups"])
    scores, mask = x["rewards"].sum(dim=1), x["mask"]
    found = {
        "grpo": lambda: advantages.grpo(scores, groups, mask),
        "dr_grpo": lambda: advantages.grpo(scores, groups, mask, scale_by_std=False),
        "rloo": lambda: advantages.rloo(scores, groups, mask),
        "remax": lambda: advantages.remax(scores, x["baselines"], mask),
        "reinforce_plus_plus_baseline": lambda: advantages.reinforce_plus_plus_baseline(scores, groups, mask),
    }[name]()
    close(found, case, name)


@CASES
def test_reinforce_plus_plus_sums_across_turns(case: dict[str, Any]) -> None:
    x = given(case)
    close(advantages.reinforce_plus_plus(x["rewards"], x["mask"], gamma=0.9), case, "reinforce_plus_plus")


@CASES
@pytest.mark.parametrize("how", sorted(AGGREGATIONS))
def test_the_clipped_loss_in_every_aggregation(case: dict[str, Any], how: Any) -> None:
    x = given(case)
    width = x["mask"].shape[1]
    found = losses.policy_loss(
        x["logprobs"],
        x["old_logprobs"],
        x["advantages"],
        x["mask"],
        clip_low=0.2,
        clip_high=0.28,
        dual_clip=3.0,
        aggregation=how,
        normalizer=losses.loss_normalizer(x["mask"], how, length=width),
    )
    close(found.loss, case, f"policy_loss/{how}")
    assert found.approx_kl == pytest.approx(case["expected"]["approx_kl"], rel=1e-4)
    assert found.clip_fraction == pytest.approx(case["expected"]["clip_fraction"], rel=1e-4)
    assert found.clip_fraction_low == pytest.approx(case["expected"]["clip_fraction_low"], rel=1e-4)


@CASES
def test_the_clipped_value_loss(case: dict[str, Any]) -> None:
    x = given(case)
    close(losses.value_loss(x["values"], x["old_values"], x["targets"], x["mask"], clip=0.5), case, "value_loss")


@CASES
@pytest.mark.parametrize("kind", ["k1", "k2", "k3", "k1+", "k3+"])
def test_kl_estimates_and_their_gradients(case: dict[str, Any], kind: KlKind) -> None:
    x = given(case)
    logprobs = x["logprobs"].requires_grad_()
    kl = losses.kl_penalty(logprobs, x["ref_logprobs"], kind) * x["mask"]
    close(kl.detach(), case, f"kl/{kind}")
    close(torch.autograd.grad(kl.sum(), logprobs)[0], case, f"kl_gradient/{kind}")


def test_the_fixture_says_where_it_comes_from() -> None:
    assert FIXTURE["verl"] and FIXTURE["torch"] and FIXTURE["seed"]
