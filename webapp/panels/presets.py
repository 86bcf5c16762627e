"""Predefined chart sets, each for one question. A name that ends with `*` matches every metric with that prefix:
each has a chart of its own, or, where the chart has a title, all of them are lines in one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.metrics import OVERVIEW, Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPreset:
    key: str
    title: str
    answers: str  # the question that the set answers
    charts: tuple[Chart, ...]


def _each(*names: str) -> tuple[Chart, ...]:
    """One chart per metric, with the metric's own title."""
    return tuple(Chart("", (name,)) for name in names)


PRESETS: tuple[PanelPreset, ...] = (
    PanelPreset(key="overview", title="Overview", answers="Is it learning?", charts=OVERVIEW),
    PanelPreset(
        key="stability",
        title="Stability",
        answers="Is training stable?",
        charts=(
            Chart("Success", ("rollout/success",)),
            Chart("Within-group reward std", ("reward/within_group_std",)),
            Chart("Policy entropy", ("policy/entropy",)),
            Chart("Gradient norm", ("optim/grad_norm", "optim/critic_grad_norm")),
            Chart("KL", ("policy/kl", "policy/kl_to_reference", "policy/sampler_kl")),
            Chart("Clipped tokens", ("policy/clip_fraction", "policy/clip_fraction_low")),
            *_each("policy/ratio_max", "value/explained_variance"),
            Chart(
                "Responses",
                (
                    "rollout/parse_ok_rate",
                    "rollout/invalid_action_rate",
                    "rollout/cut_off_rate",
                    "rollout/surplus_rate",
                ),
            ),
            *_each("rollout/response_tokens", "rollout/zero_variance_share", "optim/skipped_updates"),
        ),
    ),
    PanelPreset(
        key="collapse",
        title="Collapse",
        answers="Does the reasoning still depend on the input?",
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
        answers="How much data does the filter keep?",
        charts=(
            *_each("filter/kept_ratio", "filter/kept_groups", "filter/threshold"),
            Chart("Groups with zero variance", ("filter/zero_groups", "filter/refilled_groups")),
            *_each("reward/within_group_std", "rollout/zero_variance_share", "filter/*"),
        ),
    ),
    PanelPreset(
        key="optimisation",
        title="Optimisation",
        answers="How large are the policy updates?",
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
            Chart("Time per step", ("time/step", "time/rollout", "time/update", "time/diagnostics")),
            *_each("perf/*", "time/*", "cluster/*"),
        ),
    ),
    PanelPreset(
        key="system",
        title="System",
        answers="What limits the machine?",
        charts=(
            Chart("GPU utilization by device", ("system/gpu_share/device/*",)),
            Chart("GPU memory utilization by device", ("system/gpu_memory_share/device/*",)),
            Chart("Peak GPU memory by device", ("system/gpu_memory_gb/device/*",)),
            *_each("system/gpu_*", "system/host_cpu_share", "system/process_cpu_cores", "system/host_memory_share"),
            Chart("Memory", ("system/host_memory_gb", "system/process_memory_gb", "system/process_memory_peak_gb")),
            *_each("system/*"),
        ),
    ),
    PanelPreset(
        key="environment",
        title="Environment",
        answers="How do reward, success and responses develop in each environment?",
        charts=_each("env/*", "reward/*", "rollout/*"),
    ),
)
