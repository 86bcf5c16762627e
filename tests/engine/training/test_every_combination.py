"""Every context, algorithm and filter that the configuration offers trains with every one of the other two lists, and
trains what it sampled.

The lists are read off the configuration, so whatever is added to it is tried here. For each the run is short and the
model very small; what is checked holds for any of them.
"""

from __future__ import annotations

import math
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from engine.algorithms.filters import FILTERS
from engine.algorithms.variants import ALGORITHMS
from engine.config import build_config
from engine.event_lines import parse_event
from engine.rollout.context_windows import WINDOWS
from engine.training.session import EXIT_DONE, train
from tests.engine.talker import save_talking_model

GROUPS, GROUP_SIZE = 4, 3
CONTEXTS: dict[str, dict[str, Any]] = {
    "full": {"type": "full"},
    "last_k_turns": {"type": "last_k_turns", "turns": 2},
    "single_turn_summary": {"type": "single_turn_summary"},
    "without_thoughts": {"type": "without_thoughts"},
}
VALUES = {"top_p": 0.9, "top_k": 0.9, "top_k_absolute": 3, "min_p": 0.9}
MANY_CONTEXTS = {"last_k_turns", "single_turn_summary", "without_thoughts"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_talking_model(tmp_path_factory.mktemp("talker"))


def settings(model: Path, context: str, algorithm: str, chosen: str) -> dict[str, Any]:
    lake = {"kind": "frozen_lake", "parameters": {"size": 3}, "max_turns": 3, "max_response_tokens": 12}
    return {
        "steps": 2,
        "threads": 1,
        "model": {"path": str(model)},
        "environments": [{**lake, "max_actions_per_turn": 2}],
        "rollout": {
            "groups": GROUPS,
            "group_size": GROUP_SIZE,
            "context": CONTEXTS[context],
        },
        "algorithm": {"type": algorithm},
        "filter": {"type": chosen, **({"value": VALUES[chosen]} if chosen in VALUES else {})},
        "diagnostics": {"every": 0},
        "evaluation": {"every": 0, "at_start": False, "final_episodes": 1},
        "capture": {"every": 0},
        "checkpoint": {"every": 0},
    }


def covering_pairs(*lists: list[str]) -> list[tuple[str, ...]]:
    """Few combinations with one of each list, among which every two of different lists meet at least once."""
    combined = {chosen: set(combinations(enumerate(chosen), 2)) for chosen in product(*lists)}
    missing, covering = set().union(*combined.values()), []
    while missing:
        covering.append(max(combined, key=lambda chosen: len(combined[chosen] & missing)))
        missing -= combined[covering[-1]]
    return sorted(covering)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("context", "algorithm", "chosen"), covering_pairs(list(WINDOWS), list(ALGORITHMS), list(FILTERS))
)
def test_two_steps_train_on_what_was_sampled(
    model: Path, tmp_path: Path, context: str, algorithm: str, chosen: str
) -> None:
    train_two_steps(model, settings(model, context, algorithm, chosen), tmp_path)


# settings of filters and algorithms, each with one that has it
VARIANTS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "std mass": ("full", "grpo", "top_p", {"filter": {"mode": "std"}}),
    "softmax mass": ("full", "grpo", "top_p", {"filter": {"mode": "softmax"}}),
    "smallest": ("full", "grpo", "top_k", {"filter": {"value": 0.5, "largest": False}}),
    "entropy": ("full", "rloo", "top_k", {"filter": {"value": 0.5, "metric": "entropy"}}),
    "length": ("full", "rloo", "top_k", {"filter": {"value": 0.5, "metric": "length"}}),
    "turn credit": ("last_k_turns", "ppo", "none", {"algorithm": {"credit": {"type": "turn"}}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_two_steps_train_with_each_variant(model: Path, tmp_path: Path, variant: str) -> None:
    context, algorithm, chosen, changes = VARIANTS[variant]
    asked = settings(model, context, algorithm, chosen)
    train_two_steps(model, asked | {name: asked[name] | fields for name, fields in changes.items()}, tmp_path)


def train_two_steps(model: Path, asked: dict[str, Any], directory: Path) -> None:
    assert train(build_config(asked), directory) == EXIT_DONE
    events = [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    steps = [event for event in events if event.kind == "step_completed"]
    assert len(steps) == 2
    trained = [step.metrics for step in steps if not step.skipped]
    assert trained, "both steps were skipped, so nothing was tried"
    for metrics in trained:
        assert all(math.isfinite(value) for value in metrics.values())
        assert metrics["optim/skipped_updates"] == 0
        assert metrics["optim/grad_norm"] > 0
        # the learner finds the probabilities that the sampler drew with: same tokens after the same prompts
        assert metrics["policy/sampler_kl"] == pytest.approx(0, abs=1e-4)
        assert 1 <= metrics["filter/kept_groups"] <= GROUPS
        assert metrics["rollout/turns"] <= 3
        assert metrics["rollout/fault_rate"] == metrics["rollout/context_full_rate"] == 0
        if asked["rollout"]["context"]["type"] in MANY_CONTEXTS:
            assert 1 < metrics["rollout/contexts"] <= metrics["rollout/turns"]
        else:
            assert metrics["rollout/contexts"] == 1
    before, after = (
        load_file(model / "model.safetensors"),
        load_file(directory / "checkpoints/step_2/model/model.safetensors"),
    )
    assert any(not torch.equal(before[name], after[name]) for name in before)
