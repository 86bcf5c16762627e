"""The glossary explains every metric that the engine emits, in words, and maps the names of other trainers."""

from __future__ import annotations

import string
from typing import get_args

import pytest

from engine.environments import ENVIRONMENTS, environment_class
from engine.metrics import FOREIGN_NAMES, GLOSSARY, OVERVIEW, SECTIONS, Metric, describe, section_of
from engine.rollout.action_parser import ParseCase

EMITTED = """
reward/mean reward/std reward/within_group_std reward/within_group_score_std reward/min reward/max reward/penalty
env/Frozen Lake/success env/Frozen Lake/return env/Frozen Lake/turns env/Frozen Lake/actions
env/Frozen Lake/effective_rate env/Frozen Lake/fault_rate env/Frozen Lake/turns_used
env/Frozen Lake/parse_ok_rate env/Frozen Lake/invalid_action_rate env/Frozen Lake/kept_ratio rollout/response_tokens_p95
rollout/success rollout/response_tokens rollout/trajectory_tokens rollout/turns rollout/actions_per_turn
rollout/contexts rollout/fault_rate rollout/close_fault_rate
env/Frozen Lake/steps_left rollout/context_full_rate rollout/no_room_rate rollout/unparsed_groups
rollout/surplus_actions rollout/surplus_rate
rollout/parse_ok_rate rollout/invalid_action_rate rollout/cut_off_rate rollout/zero_variance_share
policy/entropy policy/loss policy/kl policy/kl_to_reference policy/clip_fraction policy/clip_fraction_low
policy/ratio_max policy/clipped_above policy/clipped_below reward/within_group_std_variation rollout/failed_groups
rollout/mixed_groups rollout/solved_groups policy/sampler_kl policy/kl_in_reward reward/greedy filter/refilled_groups
value/loss value/explained_variance value/clip_fraction optim/grad_norm optim/critic_grad_norm optim/learning_rate
optim/skipped_updates filter/kept_ratio filter/kept_groups filter/zero_groups filter/threshold
collapse/conditional_entropy collapse/conditional_entropy_token collapse/reasoning_entropy collapse/mi_sequence
collapse/mi_ratio collapse/mi_ceiling collapse/retrieval_accuracy collapse/retrieval_chance
collapse/retrieval_above_chance collapse/samples collapse/prompts collapse/mi_token_compat collapse/mi_zscore
collapse/mi_zscore_ema collapse/marginal_std collapse/marginal_std_ema collapse/mi_zscore_token_compat
collapse/mi_zscore_ema_token_compat collapse/marginal_std_token_compat collapse/marginal_std_ema_token_compat
collapse/matched_logprob_token collapse/marginal_logprob_token_compat collapse/reasoning_entropy_token_compat
collapse/retrieval_accuracy_at_2 collapse/retrieval_chance_at_4 collapse/retrieval_above_chance_at_8
collapse/valid_thought_rate collapse/first_turns collapse/first_turns_valid collapse/first_turn_valid_rate
collapse/template_share collapse/largest_template gradient/all/task gradient/bucket_1/entropy gradient/bucket_2/kl
gradient/bucket_3/regularizer_share gradient/bucket_4/reward_std gradient/bucket_6/groups eval/success
eval/Frozen Lake/success eval/Frozen Lake/success_low eval/Frozen Lake/success_high
eval/Frozen Lake/return time/step time/rollout
time/diagnostics time/gradients time/update time/evaluation time/checkpoint time/capture time/score time/sync
cluster/probe_gap cluster/sync_gb cluster/replaced_samplers cluster/replaced_environments perf/sampled_tokens_per_second
perf/trained_tokens_per_second system/process_memory_gb system/process_memory_peak_gb
system/process_cpu_cores system/host_cpu_share system/host_memory_share system/host_memory_gb system/gpu_share
system/gpu_memory_gb system/gpu_memory_share system/gpu_share/learner system/gpu_memory_gb/learner
system/gpu_memory_share/sampler system/gpu_share/device/learner_0 system/gpu_memory_gb/device/sampler_11
system/gpu_memory_share/device/learner_1
"""
# a tag may hold spaces, so names are split at areas
NAMES = [
    word.replace("Frozen_Lake", "Frozen Lake") for word in EMITTED.replace("Frozen Lake", "Frozen_Lake").split()
] + [f"rollout/parse/{case}" for case in get_args(ParseCase)]


@pytest.mark.parametrize("name", NAMES)
def test_every_emitted_metric_has_an_entry_that_explains_it(name: str) -> None:
    entry = describe(name)
    assert entry.name == name
    assert entry.section == name.split("/")[0]
    assert "no entry" not in entry.meaning
    assert entry.bad
    assert "<" not in entry.title


@pytest.mark.parametrize("entry", GLOSSARY.values(), ids=list(GLOSSARY))
def test_entries_are_whole_sentences_with_sensible_axes(entry: Metric) -> None:
    for text in (entry.meaning, entry.bad):
        assert not text or (text[0] not in string.ascii_lowercase and text.endswith("."))
    assert entry.low is None or entry.high is None or entry.low < entry.high
    assert entry.section in {section.key for section in SECTIONS}
    if entry.unit == "share":
        assert entry.high in (None, 1)


def test_a_tag_is_filled_in_whatever_it_holds() -> None:
    assert describe("env/a/b <i>/success").title == "a/b <i>: training success"
    assert describe(r"eval/\1 <tag>/return").title == r"\1 <tag>: held-out return"


def test_a_metric_of_a_device_is_titled_by_whose_device_it_is() -> None:
    entry = describe("system/gpu_share/device/sampler_11")
    assert (entry.title, entry.low, entry.high) == ("GPU utilization, sampler 11", 0, 1)


def test_a_number_of_an_environment_is_titled_by_its_words_and_hides_no_other_metric() -> None:
    assert describe("env/a/b/best_tile").title == "a/b: best tile"
    assert describe("env/a/b/success").title == "a/b: training success"


@pytest.mark.parametrize("kind", [kind for kind in ENVIRONMENTS if environment_class(kind).info_metrics])
def test_numbers_of_the_environments_that_ship_have_entries_of_their_own(kind: str) -> None:
    assert {f"env/<tag>/{name}" for name in environment_class(kind).info_metrics} <= set(GLOSSARY)
    [*_, name] = environment_class(kind).info_metrics
    assert describe(f"env/a/b/{name}").meaning == GLOSSARY[f"env/<tag>/{name}"].meaning


def test_the_parse_pattern_answers_for_cases_to_come() -> None:
    assert describe("rollout/parse/haiku").title == "Responses: haiku"


def test_an_unknown_name_is_still_explained_as_far_as_it_can_be() -> None:
    entry = describe("gradient/task_norm/high")
    assert (entry.section, entry.title) == ("gradient", "task norm: high")
    assert section_of("custom") == "perf"


def test_the_overview_has_six_charts_of_known_metrics_with_what_must_be_watched_among_them() -> None:
    names = [name for chart in OVERVIEW for name in chart.names]
    assert len(OVERVIEW) == 6
    assert set(names) <= set(GLOSSARY)
    assert {
        "reward/mean", "reward/within_group_std", "rollout/success", "policy/entropy", "collapse/mi_ratio",
        "optim/grad_norm",
    } <= set(names)  # fmt: skip


def test_names_of_other_trainers_lead_to_entries() -> None:
    assert FOREIGN_NAMES["actor/entropy"] == "policy/entropy"
    assert FOREIGN_NAMES["collapse_first_turn_sample/mi_seq_estimate"] == "collapse/mi_sequence"
    assert all(ours in GLOSSARY for ours in FOREIGN_NAMES.values())
