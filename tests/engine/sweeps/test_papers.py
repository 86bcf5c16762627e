"""The papers' sweeps at full size have the papers' settings: RAGEN (arXiv 2504.20073), RAGEN v2 (2604.06268), and the
scripts and `base.yaml` of its repository."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import RunConfig
from engine.sweeps.catalogue import SweepPreset, listed
from engine.sweeps.configurations import configurations_of
from engine.sweeps.points import points_of

FULL = listed("papers", "full")
V1 = ("responses_per_prompt_full_size", "action_budget_full_size", "thinking_full_size", "online_k_full_size")


def configs(preset: SweepPreset) -> dict[tuple[str, ...], RunConfig]:
    """By the labels of the axes."""
    base = preset.base_config().model_dump(mode="json")
    found = configurations_of(base, points_of(preset.plan, base)).found
    return {tuple(point.labels.values()): config for point, config in found}


def values(key: str, read: Any) -> list[Any]:
    return [read(config) for config in configs(FULL[key]).values()]


def test_every_axis_that_the_papers_sweep_is_a_preset_at_full_size() -> None:
    assert set(FULL) == {
        *V1, "algorithm_full_size", "model_size", "filter_mass_full_size", "kl_full_size", "entropy_full_size",
        "slip_rate_full_size", "filter_ablation_full_size",
    }  # fmt: skip


@pytest.mark.parametrize("key", FULL)
def test_all_have_the_batch_the_budgets_and_the_optimizer_of_the_papers(key: str) -> None:
    for config in configs(FULL[key]).values():
        rollout, optimizer, evaluation = config.rollout, config.optimizer, config.evaluation
        assert rollout.groups * rollout.group_size == 128
        assert optimizer.updates_per_step == 128 // 32  # ppo_mini_batch_size
        assert optimizer.learning_rate == 1e-6
        assert rollout.temperature == 1.0 and evaluation.temperature == 0.5 and evaluation.final_episodes == 512
        [environment] = config.environments
        assert environment.max_response_tokens == 400 and rollout.max_context_tokens >= 3600
        assert environment.format_penalty == -0.1
        critic = getattr(config.algorithm, "critic", None)
        assert critic is None or critic.learning_rate == 1e-5
        assert config.loss.clip_low == 0.2


@pytest.mark.parametrize("key", FULL)
def test_those_of_the_first_paper_train_the_small_model_for_200_steps_and_those_of_the_second_for_400(key: str) -> None:
    steps = {config.steps * config.optimizer.epochs for config in configs(FULL[key]).values()}
    models = {config.model.path for config in configs(FULL[key]).values()}
    assert steps == ({200} if key in V1 else {400})
    if key in V1:
        assert models == {"Qwen/Qwen2.5-0.5B-Instruct"}
    elif key == "algorithm_full_size":
        assert models == {"Qwen/Qwen2.5-3B"}
    elif key == "model_size":
        assert models == {f"Qwen/Qwen2.5-{size}B" for size in ("0.5", "1.5", "3", "7")}
    else:
        assert models == {"Qwen/Qwen2.5-3B-Instruct"}


@pytest.mark.parametrize("key", sorted(set(FULL) - {"algorithm_full_size", "thinking_full_size"}))
def test_the_estimator_is_generalised_advantage_estimation(key: str) -> None:
    assert set(values(key, lambda config: config.algorithm.type)) == {"ppo"}


@pytest.mark.parametrize(
    "key",
    ["kl_full_size", "entropy_full_size", "responses_per_prompt_full_size", "action_budget_full_size",
     "online_k_full_size"],
)  # fmt: skip
def test_a_sweep_of_something_else_filters_nothing(key: str) -> None:
    assert set(values(key, lambda config: config.filter.type)) == {"none"}


def test_coefficients_are_swept_with_the_other_one_off() -> None:
    swept = [0, 0.001, 0.003, 0.01, 0.03, 0.1]
    assert values("kl_full_size", lambda config: config.loss.kl_coefficient) == swept
    assert set(values("kl_full_size", lambda config: config.loss.entropy_coefficient)) == {0}
    assert values("entropy_full_size", lambda config: config.loss.entropy_coefficient) == swept
    assert set(values("entropy_full_size", lambda config: config.loss.kl_coefficient)) == {0}


def test_the_main_tables_cross_environments_and_the_filter_of_the_scripts() -> None:
    """Four environments, and top-p 0.9 by softmax with groups of equal returns, or none; no KL, entropy 0.001."""
    kinds = {"sokoban", "frozen_lake", "metamathqa", "countdown"}
    for key, others in (("algorithm_full_size", 4), ("model_size", 4)):
        found = list(configs(FULL[key]).values())
        assert len(found) == len(kinds) * others * 2
        assert {config.environments[0].kind for config in found} == kinds
        filters = [config.filter.model_dump() for config in found if config.filter.type != "none"]
        assert len(filters) == len(found) // 2
        assert {(one["type"], one["value"], one["mode"], one["include_zero"]) for one in filters} == {
            ("top_p", 0.9, "softmax", True)
        }
        assert {(one.loss.kl_coefficient, one.loss.entropy_coefficient) for one in found} == {(0, 0.001)}
    assert {one.environments[0].parameters.get("success_rate", 1.0) for one in found} == {1.0}


def test_the_algorithms_of_the_main_table_have_their_own_losses() -> None:
    found = {labels[1]: config for labels, config in configs(FULL["algorithm_full_size"]).items()}
    loss = {label: (one.algorithm.type, one.loss.clip_high, one.loss.aggregation.type) for label, one in found.items()}
    assert loss == {
        "PPO": ("ppo", 0.2, "token_mean"),
        "GRPO": ("grpo", 0.2, "sequence_mean_token_mean"),
        "Dr. GRPO": ("dr_grpo", 0.2, "sequence_mean_token_sum"),
        "DAPO": ("grpo", 0.28, "token_mean"),
    }


def test_the_kept_mass_is_swept_by_softmax_without_groups_of_equal_returns() -> None:
    found = [config.filter.model_dump() for config in configs(FULL["filter_mass_full_size"]).values()]
    assert found[0]["type"] == "none"
    assert [one["value"] for one in found[1:]] == [1, 0.98, 0.95, 0.9, 0.8, 0.6, 0.4]
    assert {(one["mode"], one["include_zero"]) for one in found[1:]} == {("softmax", False)}


def test_moves_slip_from_always_to_never_with_and_without_the_filter() -> None:
    found = list(configs(FULL["slip_rate_full_size"]).values())
    slips = [round(100 * (1 - config.environments[0].parameters["success_rate"])) for config in found]
    assert slips[::2] == slips[1::2] == [100, 50, 20, 10, 5, 2, 0]
    assert [config.filter.type for config in found] == ["none", "top_p"] * 7
    filtered = found[1].filter.model_dump()
    assert (filtered["value"], filtered["mode"], filtered["include_zero"]) == (0.9, "std", False)
    assert {(config.loss.kl_coefficient, config.loss.entropy_coefficient) for config in found} == {(0, 0)}


def test_the_ablation_has_the_fifteen_filters_of_the_script_by_mass_of_the_std() -> None:
    found = [config.filter.model_dump() for config in configs(FULL["filter_ablation_full_size"]).values()]
    rewards = [one for one in found if one["metric"] == "reward_variance"]
    assert len(found) == 15 and len(rewards) == 11
    assert [(one["type"], one["value"]) for one in rewards] == [
        *(("top_p", share) for share in (1, 0.95, 0.9, 0.5)), *(("min_p", share) for share in (0.05, 0.1, 0.2)),
        *(("top_k", share) for share in (0.25, 0.5, 0.25, 0.5)),
    ]  # fmt: skip
    assert {one["mode"] for one in found if one["type"] == "top_p"} == {"std"}
    assert [(one["metric"], one["largest"]) for one in found[11:]] == [
        ("entropy", True), ("entropy_variance", True), ("length", True), ("length", False),
    ]  # fmt: skip
    assert {one["include_zero"] for one in found} == {False}


def test_the_sweeps_of_the_first_paper_have_its_levels() -> None:
    responses = values("responses_per_prompt_full_size", lambda one: (one.rollout.groups, one.rollout.group_size))
    assert responses == [(4, 32), (8, 16), (16, 8), (32, 4), (64, 2), (128, 1)]
    assert values("action_budget_full_size", lambda one: one.environments[0].max_actions_per_turn) == [*range(1, 8)]
    assert values("online_k_full_size", lambda one: one.optimizer.epochs) == [1, 2, 5, 10]
    for key in ("responses_per_prompt_full_size", "online_k_full_size"):
        assert set(values(key, lambda one: one.environments[0].max_actions_per_turn)) == {5}
    for key in V1[:2] + V1[3:]:
        assert set(values(key, lambda one: one.environments[0].max_actions)) == {10}


def test_thoughts_are_compared_under_starpo_s_on_both_bandits() -> None:
    found = list(configs(FULL["thinking_full_size"]).values())
    assert {(one.rollout.think, one.environments[0].parameters["reversed"]) for one in found} == {
        (True, False), (True, True), (False, False), (False, True),
    }  # fmt: skip
    for one in found:
        assert one.algorithm.type == "ppo" and one.loss.clip_high == 0.28 and one.loss.kl_coefficient == 0
        kept = one.filter.model_dump()
        assert (kept["type"], kept["value"]) == ("top_k", 0.25)
