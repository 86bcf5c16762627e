"""Where a step's time goes, and how fast it works."""

from __future__ import annotations

from dataclasses import replace

from engine.glossary.types import Metric

_TIMES = {
    "step": ("Step", "Wall time of the whole step, evaluation and checkpoints left out."),
    "rollout": ("Rollout", "Time to sample responses and step environments."),
    "score": ("Scoring", "Time for the learner's own log-probabilities of what another program sampled."),
    "sync": ("Weight sync", "Time to give the samplers the learner's new weights and to prove that they have them."),
    "diagnostics": ("Collapse diagnostics", "Time to score thoughts under prompts, on the steps that do."),
    "gradients": ("Gradient decomposition", "Time to take gradients of the loss's parts, on the steps that do."),
    "update": ("Update", "Time for advantages and gradient steps."),
    "capture": ("Recording", "Time to write the step's trajectories."),
    "evaluation": ("Evaluation", "Time for held-out episodes, on the steps that have them."),
    "checkpoint": ("Checkpoint", "Time to save a checkpoint, on the steps that do."),
}

TIME = tuple(
    Metric(
        name=f"time/{name}", section="time", title=title, unit="s", low=0, better="lower", meaning=meaning,
        bad="Growing from step to step: responses get longer, or the machine is busy with something else.",
    )
    for name, (title, meaning) in _TIMES.items()
)  # fmt: skip

PERF = (
    Metric(
        name="perf/sampled_tokens_per_second", section="perf", title="Sampling speed", unit="tokens/s", low=0,
        better="higher", meaning="Tokens sampled per second of rollout.", formula="sampled tokens / time of rollout",
        bad="Half of its usual: trajectories of very different length, or a busy machine.",
    ),
    Metric(
        name="perf/trained_tokens_per_second", section="perf", title="Training speed", unit="tokens/s", low=0,
        better="higher", meaning="Tokens of the kept trajectories per second of update.",
        formula="tokens of kept trajectories / time of update", bad="Half of its usual: a busy machine.",
    ),
    Metric(
        name="perf/memory_mb", section="perf", title="Memory", unit="MB", low=0, better="lower",
        meaning="Most memory that the engine has used so far.",
        bad="Rising step by step towards the machine's limit: lower optimizer.micro_batch_tokens.",
    ),
    Metric(
        name="perf/cpu_cores", section="perf", title="Cores used", unit="cores", low=0,
        meaning="Cores that the engine kept busy over the step, its ended children counted.",
        formula="processor seconds / seconds",
        bad="Far below the machine's cores on a CPU run: it waits for something.",
    ),
    Metric(
        name="perf/host_cpu_share", section="perf", title="Machine's processors busy", unit="share", low=0, high=1,
        meaning="Share of all cores' time that anything on the machine used over the step.",
        bad="Near 1 while the engine's own cores are few: something else takes the machine.",
    ),
    Metric(
        name="perf/host_memory_share", section="perf", title="Machine's memory in use", unit="share", low=0, high=1,
        better="lower", meaning="Share of the machine's memory that is not available, at the end of the step.",
        bad="Near 1: the kernel will end the engine, and the run restarts from its last checkpoint.",
    ),
    Metric(
        name="perf/gpu_share", section="perf", title="GPU busy", unit="share", low=0, high=1, better="higher",
        meaning="Share of the step in which the GPU ran anything, asked of the driver once a second.",
        bad="Below a half: the environments or the host keep it waiting.",
    ),
    Metric(
        name="perf/gpu_memory_mb", section="perf", title="GPU memory of the engine", unit="MB", low=0, better="lower",
        meaning="Most GPU memory that the engine's tensors have taken so far.",
        bad="Near the device's: lower optimizer.micro_batch_tokens.",
    ),
    Metric(
        name="perf/gpu_memory_share", section="perf", title="GPU memory in use", unit="share", low=0, high=1,
        better="lower", meaning="Share of the device's memory that is taken, by this engine or by others.",
        bad="Near 1 with little of it the engine's: another process holds the device.",
    ),
)  # fmt: skip

CLUSTER = (
    Metric(
        name="cluster/probe_gap", section="cluster", title="Sync probe", unit="nats", low=0, log=True, better="lower",
        meaning="After a weight sync: the largest distance between a sampler's and the learner's log-probability of "
        "the same few tokens. It proves that the sampler holds the learner's weights.",
        bad="Above 0.01 in float32 the run stops: the sampler kept old weights.",
    ),
    Metric(
        name="cluster/compared_samplers", section="cluster", title="Samplers compared", unit="processes", low=0,
        better="higher", meaning="Samplers whose weights have, bit for bit, the checksum of what the learner sent. "
        "Others, which hold them packed or cut, are known by the probe alone.",
        bad="A checksum that differs stops the run.",
    ),
    Metric(
        name="cluster/replaced_samplers", section="cluster", title="Replaced samplers", unit="processes", low=0,
        better="lower", meaning="Samplers that died in the step's rollout and were replaced.",
        bad="Again and again: look at the memory of their machines.",
    ),
    Metric(
        name="cluster/replaced_environments", section="cluster", title="Replaced environment actors", unit="processes",
        low=0, better="lower", meaning="Environment actors that died in the step's rollouts and were replaced. What "
        "they were playing ended by a fault.",
        bad="Again and again: look at the memory of their machines, and whether an environment ends its process.",
    ),
    Metric(
        name="cluster/left_actors", section="cluster", title="Actors left", unit="processes", low=0, better="lower",
        meaning="Of alerts alone: actors that Ray still showed when the run had ended them.",
        bad="Above 0 they may hold GPUs: look at their nodes, and restart Ray there.",
    ),
)  # fmt: skip

ROLES = {"learner": "learners", "sampler": "samplers"}
OVER_ROLES = {"perf/gpu_share": "The mean over the", "perf/gpu_memory_mb": "The most of any of the"}
OVER_ROLES["perf/gpu_memory_share"] = OVER_ROLES["perf/gpu_memory_mb"]
# of a run on Ray, whose learners and samplers have devices of their own
BY_ROLE = tuple(
    replace(
        entry,
        name=f"{entry.name}/{role}",
        title=f"{entry.title}, {several}",
        meaning=f"{entry.meaning} {OVER_ROLES[entry.name]} {several} of a run on Ray.",
    )
    for entry in PERF
    if entry.name in OVER_ROLES
    for role, several in ROLES.items()
)

ENTRIES = (*TIME, *PERF, *BY_ROLE, *CLUSTER)
