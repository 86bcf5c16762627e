"""The names of RAGEN, verl and TRL for our metrics, so that what they report has our charts, rules and verdict.

Where two of their names mean one of ours, both are here. Names whose numbers are not comparable are left out: verl's
`response_length/mean` counts the whole conversation, for one.
"""

from __future__ import annotations

_VERL = {
    "actor/entropy": "policy/entropy",
    "actor/entropy_loss": "policy/entropy",
    "actor/pg_loss": "policy/loss",
    "actor/ppo_kl": "policy/kl",
    "actor/kl_loss": "policy/kl_to_reference",
    "actor/pg_clipfrac": "policy/clip_fraction",
    "actor/pg_clipfrac_lower": "policy/clip_fraction_low",
    "actor/grad_norm": "optim/grad_norm",
    "actor/lr": "optim/learning_rate",
    "critic/grad_norm": "optim/critic_grad_norm",
    "critic/vf_loss": "value/loss",
    "critic/vf_clipfrac": "value/clip_fraction",
    "critic/vf_explained_var": "value/explained_variance",
    "critic/score/mean": "reward/mean",
    "critic/score/max": "reward/max",
    "critic/score/min": "reward/min",
    "timing_s/gen": "time/rollout",
    "timing_s/update_actor": "time/update",
    "timing_s/testing": "time/evaluation",
    "timing_s/save_checkpoint": "time/checkpoint",
    "timing_s/step": "time/step",
}

_RAGEN = {
    "rollout/in_group_std": "reward/within_group_std",
    "rollout/in_group_reward_std": "reward/within_group_std",
    "rollout/filter_kept_count": "filter/kept_groups",
    "rollout/filter_kept_ratio": "filter/kept_ratio",
    "rollout/filter_zero_count": "filter/zero_groups",
    "train/response_length": "rollout/response_tokens",
    "timing_s/collapse_metrics": "time/diagnostics",
}

_RAGEN_COLLAPSE = {
    "mi_seq_estimate": "collapse/mi_sequence",
    "mi_estimate": "collapse/mi_token_compat",
    "mi_upper_bound": "collapse/mi_ceiling",
    "mi_zscore_seq": "collapse/mi_zscore",
    "mi_zscore": "collapse/mi_zscore_token_compat",
    "mi_zscore_ema_seq": "collapse/mi_zscore_ema",
    "mi_zscore_ema": "collapse/mi_zscore_ema_token_compat",
    "marginal_std_seq": "collapse/marginal_std",
    "marginal_std": "collapse/marginal_std_token_compat",
    "marginal_std_ema_seq": "collapse/marginal_std_ema",
    "marginal_std_ema": "collapse/marginal_std_ema_token_compat",
    "matched_log_prob_mean": "collapse/matched_logprob_token",
    "marginal_log_prob_mean": "collapse/marginal_logprob_token_compat",
    "conditional_entropy_seq_est": "collapse/conditional_entropy",
    "conditional_entropy_est": "collapse/conditional_entropy_token",
    "reasoning_entropy_seq_est": "collapse/reasoning_entropy",
    "reasoning_entropy_est": "collapse/reasoning_entropy_token_compat",
    "retrieval_accuracy": "collapse/retrieval_accuracy",
    "retrieval_chance_level": "collapse/retrieval_chance",
    "retrieval_above_chance": "collapse/retrieval_above_chance",
    **{f"retrieval_accuracy@{k}": f"collapse/retrieval_accuracy_at_{k}" for k in (2, 4, 8)},
    **{f"retrieval_chance_level@{k}": f"collapse/retrieval_chance_at_{k}" for k in (2, 4, 8)},
    **{f"retrieval_above_chance@{k}": f"collapse/retrieval_above_chance_at_{k}" for k in (2, 4, 8)},
}

_RAGEN_THOUGHTS = {
    "collapse/valid_thinking_rate": "collapse/valid_thought_rate",
    "collapse/first_turn_num_total": "collapse/first_turns",
    "collapse/first_turn_num_valid": "collapse/first_turns_valid",
    "collapse/first_turn_valid_rate": "collapse/first_turn_valid_rate",
}

# TRL's GRPO trainer; its names are too short to mean the same in the logs of others. `reward_std` is over all rewards.
TRL_NAMES = {
    "reward": "reward/mean",
    "reward_std": "reward/std",
    "frac_reward_zero_std": "rollout/zero_variance_share",
    "completions/mean_length": "rollout/response_tokens",
    "completions/clipped_ratio": "rollout/cut_off_rate",
    "entropy": "policy/entropy",
    "policy_loss": "policy/loss",
    "kl": "policy/kl_to_reference",
    "clip_ratio/region_mean": "policy/clip_fraction",
    "clip_ratio/low_mean": "policy/clipped_below",
    "clip_ratio/high_mean": "policy/clipped_above",
    "grad_norm": "optim/grad_norm",
    "learning_rate": "optim/learning_rate",
    "step_time": "time/step",
}

FOREIGN_NAMES: dict[str, str] = {
    **_VERL,
    **_RAGEN,
    **_RAGEN_THOUGHTS,
    **{
        f"collapse_{form}_sample/{theirs}": ours
        for form in ("first_turn", "trajectory")
        for theirs, ours in _RAGEN_COLLAPSE.items()
    },
}


def names_of(source: str) -> dict[str, str]:
    """The names by which the trainer `source` reports metrics of ours."""
    return {**FOREIGN_NAMES, **TRL_NAMES} if source.casefold() in ("trl", "transformers") else FOREIGN_NAMES
