"""The clipped loss and its gradient against TRL's GRPO trainer, from a fixture of `benchmarks/reference_vectors`.

Its upper bound of the ratio (`delta`) and our dual clip are one and the same. Rows without a sampled token are left
out: TRL counts them in its means of rows, ours are means of rows that have one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.algorithms import losses

FIXTURE = json.loads((Path(__file__).parent / "reference" / "trl.json").read_text())
CASES = pytest.mark.parametrize("case", FIXTURE["cases"], ids=["first batch", "second batch"])


def rows_with_tokens(case: dict[str, Any]) -> dict[str, Tensor]:
    given = {name: torch.tensor(value) for name, value in case["given"].items()}
    some = given["mask"].sum(dim=1) > 0
    return {name: value[some] for name, value in given.items()}


@CASES
@pytest.mark.parametrize("how", ["token_mean", "sequence_mean_token_mean", "sequence_mean_token_sum_norm"])
def test_the_clipped_loss_pulls_each_token_as_theirs_does(case: dict[str, Any], how: Any) -> None:
    x = rows_with_tokens(case)
    logprobs = x["logprobs"].requires_grad_()
    loss = losses.policy_loss(
        logprobs,
        x["old_logprobs"],
        x["advantages"],
        x["mask"],
        clip_low=0.2,
        clip_high=0.28,
        dual_clip=3.0,
        aggregation=how,
        normalizer=losses.loss_normalizer(x["mask"], how, length=x["mask"].shape[1]),
    ).loss
    expected = case["expected"]
    assert float(loss.detach()) == pytest.approx(expected[f"policy_loss/{how}"], rel=1e-5)
    gradient = torch.autograd.grad(loss, logprobs)[0]
    torch.testing.assert_close(gradient, torch.tensor(expected[f"policy_loss_gradient/{how}"]), atol=1e-6, rtol=1e-4)


def test_a_row_without_a_sampled_token_changes_nothing() -> None:
    x = rows_with_tokens(FIXTURE["cases"][0])
    found = []
    for rows in (x["mask"], torch.cat([x["mask"], torch.zeros(1, x["mask"].shape[1])])):
        extra = torch.zeros(len(rows) - len(x["mask"]), rows.shape[1])
        loss = losses.policy_loss(
            torch.cat([x["logprobs"], extra]),
            torch.cat([x["old_logprobs"], extra]),
            torch.cat([x["advantages"], extra]),
            rows,
            clip_low=0.2,
            clip_high=0.28,
            dual_clip=3.0,
            aggregation="sequence_mean_token_mean",
        ).loss
        found.append(float(loss))
    assert found[0] == pytest.approx(found[1])


def test_the_fixture_says_where_it_comes_from() -> None:
    assert FIXTURE["trl"] and FIXTURE["torch"] and FIXTURE["seed"]
