"""Where the profile of a step puts what the processor did."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.step_profile import kind_of, profiled_shares, shares
from engine.config import RunConfig

SMALL = {
    "threads": 1,
    "environments": [{"kind": "frozen_lake", "max_response_tokens": 12, "max_turns": 2}],
    "rollout": {"groups": 2, "group_size": 2},
    "diagnostics": {"every": 1},
    "evaluation": {"every": 0},
}


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("aten::addmm", "matrix products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::_log_softmax", "log-probabilities and softmax"),
        ("aten::multinomial", "drawing tokens"),
        ("Optimizer.step#AdamW.step", "optimizer"),
        ("aten::copy_", "moving memory"),
        ("aten::silu", "other operations"),
    ],
)
def test_an_operation_has_its_kind(operation: str, kind: str) -> None:
    assert kind_of(operation) == kind


def test_what_torch_did_not_take_is_said_to_be_outside_of_it() -> None:
    # of 8 µs, 4 and 2 are torch's
    found = shares(Counter({"optimizer": 2, "attention": 4}), 8)
    assert found == {"attention": 0.5, "optimizer": 0.25, "outside torch": 0.25}


@pytest.mark.slow
def test_no_operation_of_a_real_step_counts_twice() -> None:
    found = profiled_shares(RunConfig.model_validate(SMALL), steps=1)["shares"]
    # one that did would leave less than nothing for the rest
    assert min(share for kinds in found.values() for share in kinds.values()) >= 0
    assert min(found["rollout"]["matrix products"], found["update"]["matrix products"]) > 0.01
