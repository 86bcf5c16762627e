"""Sets of charts that answer one question each, as data. A name that ends with `*` stands for every metric like it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.metrics import OVERVIEW, Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPreset:
    key: str
    title: str
    answers: str  # the question that a reader comes with
    charts: tuple[Chart, ...]


def _each(*names: str) -> tuple[Chart, ...]:
    """One chart a metric, with the metric's own title."""
    return tuple(Chart("", (name,)) for name in names)


PRESETS: tuple[PanelPreset, ...] = (
    PanelPreset(key="overview", title="Overview", answers="Is it learning?", charts=OVERVIEW),
    PanelPreset(
        key="stability",
        title="Stability",
        answers="Is it about to break?",
        charts=(
            Chart("Success", ("rollout/success",)),
            Chart("Within-group reward std", ("reward/within_group_std",)),
            Chart("Policy entropy", ("policy/entropy",)),
            Chart("Gradient norm", ("optim/grad_norm", "optim/critic_grad_norm")),
            Chart("KL", ("policy/kl", "policy/kl_to_reference", "policy/sampler_kl")),
            Chart("Clipped tokens", ("policy/clip_fraction", "policy/clip_fraction_low")),
            *_each("policy/ratio_max", "value/explained_variance"),
            Chart("Responses", ("rollout/parse_ok_rate", "rollout/invalid_action_rate", "rollout/cut_off_rate")),
            *_each("rollout/response_tokens", "rollout/zero_variance_share", "optim/skipped_updates"),
        ),
    ),
    PanelPreset(
        key="collapse",
        title="Collapse",
        answers="Does it still reason about what it sees?",
        charts=(
            Chart("Mutual information", ("collapse/mi_ratio", "collapse/retrieval_above_chance")),
            Chart("Entropy of thoughts", ("collapse/conditional_entropy", "collapse/reasoning_entropy")),
            Chart("Templates", ("collapse/template_share", "collapse/largest_template")),
            *_each("policy/entropy", "reward/within_group_std", "collapse/mi_zscore_ema", "rollout/response_tokens"),
            *_each("collapse/*", "gradient/*"),
        ),
    ),
    PanelPreset(
        key="filter",
        title="Filter",
        answers="What does the filter leave to learn from?",
        charts=(
            *_each("filter/kept_ratio", "filter/kept_groups", "filter/threshold"),
            Chart("Zero-variance groups", ("filter/zero_groups", "filter/refilled_groups")),
            *_each("reward/within_group_std", "rollout/zero_variance_share", "filter/*"),
        ),
    ),
    PanelPreset(
        key="optimisation",
        title="Optimisation",
        answers="How large are its steps, and in which direction?",
        charts=(
            Chart("Loss", ("policy/loss", "value/loss")),
            Chart("Gradient norm", ("optim/grad_norm", "optim/critic_grad_norm")),
            *_each("optim/learning_rate", "policy/*", "value/*", "optim/*"),
        ),
    ),
    PanelPreset(
        key="throughput",
        title="Throughput",
        answers="Where does the time go?",
        charts=(
            Chart("Speed", ("perf/sampled_tokens_per_second", "perf/trained_tokens_per_second")),
            Chart("Time of a step", ("time/step", "time/rollout", "time/update", "time/diagnostics")),
            *_each("perf/*", "time/*", "cluster/*"),
        ),
    ),
    PanelPreset(
        key="environment",
        title="Environment",
        answers="How does it fare in each environment, and how does it response?",
        charts=_each("env/*", "reward/*", "rollout/*"),
    ),
)
