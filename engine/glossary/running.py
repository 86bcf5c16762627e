"""Where the time of a step goes, throughput, and use of the machine."""

from __future__ import annotations

from dataclasses import replace

from engine.glossary.types import Metric

_TIMES = {
    "step": ("Step", "Wall time of the whole step, without evaluation and checkpoints."),
    "rollout": ("Rollout", "Time to sample responses and step environments."),
    "score": (
        "Scoring",
        "Time to compute the learner's log-probabilities of sampled tokens, when another program sampled them.",
    ),
    "sync": ("Weight sync", "Time to send the learner's new weights to the samplers and to verify them."),
    "diagnostics": ("Collapse diagnostics", "Time of the collapse diagnostics, at steps that have them."),
    "gradients": ("Gradient decomposition", "Time of the gradient decomposition, at steps that have one."),
    "update": ("Update", "Time of advantages and gradient steps."),
    "capture": ("Recording", "Time to write the step's trajectories."),
    "evaluation": ("Evaluation", "Time of held-out episodes, at steps that have them."),
    "checkpoint": ("Checkpoint", "Time that training stops to save a checkpoint, at steps that save one."),
}

TIME = tuple(
    Metric(
        name=f"time/{name}", section="time", title=title, unit="s", low=0, better="lower", meaning=meaning,
        bad="Growing from step to step: responses get longer, or other programs use the machine.",
    )
    for name, (title, meaning) in _TIMES.items()
)  # fmt: skip

PERF = (
    Metric(
        name="perf/sampled_tokens_per_second", section="perf", title="Sampling speed", unit="tokens/s", low=0,
        better="higher", meaning="Tokens sampled per second of rollout.", formula="sampled tokens / time of rollout",
        bad="Half of its usual level: trajectories of very different length, or a busy machine.",
    ),
    Metric(
        name="perf/trained_tokens_per_second", section="perf", title="Training speed", unit="tokens/s", low=0,
        better="higher", meaning="Tokens of the kept trajectories per second of update.",
        formula="tokens of kept trajectories / time of update", bad="Half of its usual level: a busy machine.",
    ),
)  # fmt: skip

SYSTEM = (
    Metric(
        name="system/gpu_share", section="system", title="GPU utilization", unit="share", low=0, high=1,
        better="higher",
        meaning="Share of the step in which the GPU was busy, polled once a second from the driver (NVML).",
        bad="Below one half: the GPU waits for environments or the host.",
    ),
    Metric(
        name="system/gpu_memory_gb", section="system", title="Peak GPU memory", unit="GB", low=0, better="lower",
        meaning="Peak GPU memory of the engine's tensors so far, as torch counts it.",
        bad="Near the device's memory: lower optimizer.micro_batch_tokens.",
    ),
    Metric(
        name="system/gpu_memory_share", section="system", title="GPU memory utilization", unit="share", low=0, high=1,
        better="lower", meaning="Share of the device's memory in use, by this engine or other programs.",
        formula="1 - free / total memory of the device",
        bad="Near 1 while the engine uses little: another process uses the device.",
    ),
    Metric(
        name="system/host_cpu_share", section="system", title="Host CPU utilization", unit="share", low=0, high=1,
        meaning="Utilization of all cores by all programs of the machine over the step (/proc/stat).",
        formula="ticks that were not idle / all ticks; waiting for I/O is idle",
        bad="Near 1 while the engine uses few cores: other programs use the machine.",
    ),
    Metric(
        name="system/process_cpu_cores", section="system", title="CPU cores of the engine", unit="cores", low=0,
        meaning="Mean number of CPU cores that the engine used over the step, ended child processes included.",
        formula="CPU seconds / seconds",
        bad="Far below the number of cores on a CPU run: the engine waits for something.",
    ),
    Metric(
        name="system/host_memory_share", section="system", title="Host memory utilization", unit="share", low=0,
        high=1, better="lower",
        meaning="Share of the machine's memory that is not available, at the end of the step (/proc/meminfo).",
        formula="1 - MemAvailable / MemTotal",
        bad="Near 1: the kernel may kill the engine; the run then restarts from its last checkpoint.",
    ),
    Metric(
        name="system/host_memory_gb", section="system", title="Host memory", unit="GB", low=0, better="lower",
        meaning="Memory of the machine that is not available, at the end of the step, whichever program uses it.",
        formula="MemTotal - MemAvailable",
        bad="Rising while the engine's own memory does not: another program uses it.",
    ),
    Metric(
        name="system/process_memory_gb", section="system", title="Memory of the engine", unit="GB", low=0,
        better="lower", meaning="Resident memory of the engine's process at the end of the step (/proc/self/statm).",
        bad="Rising step by step: something is kept from each step; compare with response length first.",
    ),
    Metric(
        name="system/process_memory_peak_gb", section="system", title="Peak memory of the engine", unit="GB", low=0,
        better="lower", meaning="Highest resident memory of the engine's process so far.",
        bad="Near the machine's memory: lower optimizer.micro_batch_tokens.",
    ),
)  # fmt: skip

CLUSTER = (
    Metric(
        name="cluster/probe_gap", section="cluster", title="Sync probe", unit="nats", low=0, log=True, better="lower",
        meaning="After a weight sync: the largest difference between a sampler's and the learner's log-probability of "
        "a few probe tokens. It verifies that the sampler has the learner's weights.",
        bad="Above 0.01 in float32 the run stops: the sampler still has old weights.",
    ),
    Metric(
        name="cluster/sync_gb", section="cluster", title="Weights sent", unit="GB", low=0,
        meaning="Bytes of the policy's weights that each sampler received in the step's weight sync, in the precision "
        "in which they were sent.", bad="Together with a long time/sync: the weights go through main memory. "
        "cluster.weight_transfer offers GPU-to-GPU methods.",
    ),
    Metric(
        name="cluster/compared_samplers", section="cluster", title="Verified samplers", unit="processes", low=0,
        better="higher", meaning="Samplers whose weights have exactly the checksum of what the learner sent. "
        "Samplers with packed or sharded weights are verified by the probe only.",
        bad="Fewer than the number of samplers; a wrong checksum stops the run.",
    ),
    Metric(
        name="cluster/replaced_samplers", section="cluster", title="Replaced samplers", unit="processes", low=0,
        better="lower", meaning="Samplers that died during the step's rollout and were replaced.",
        bad="Repeatedly: check the memory of their nodes.",
    ),
    Metric(
        name="cluster/replaced_environments", section="cluster", title="Replaced environment actors", unit="processes",
        low=0, better="lower", meaning="Environment actors that died during the step's rollouts and were replaced.",
        bad="Repeatedly: check the memory of their nodes, and whether an environment exits its process.",
    ),
    Metric(
        name="cluster/left_actors", section="cluster", title="Leftover actors", unit="processes", low=0, better="lower",
        meaning="In alerts only: actors that Ray still listed after the run had ended them.",
        bad="Above 0: they may hold GPUs. Check their nodes, and restart Ray there.",
    ),
)  # fmt: skip

ROLES = {"learner": "learners", "sampler": "samplers"}
OVER_ROLES = {"system/gpu_share": "Mean over the", "system/gpu_memory_gb": "Maximum over the"}
OVER_ROLES["system/gpu_memory_share"] = OVER_ROLES["system/gpu_memory_gb"]
# for runs on Ray, whose learners and samplers have their own devices
BY_ROLE = tuple(
    replace(
        entry,
        name=f"{entry.name}/{role}",
        title=f"{entry.title}, {several}",
        meaning=f"{entry.meaning} {OVER_ROLES[entry.name]} {several} of a run on Ray.",
    )
    for entry in SYSTEM
    if entry.name in OVER_ROLES
    for role, several in ROLES.items()
)

BY_DEVICE = tuple(
    replace(
        entry,
        name=f"{entry.name}/device/<name>",
        title=f"{entry.title}, <name>",
        meaning=f"{entry.meaning} Of the GPU of one learner or sampler of a run on Ray.",
    )
    for entry in SYSTEM
    if entry.name in OVER_ROLES
)

ENTRIES = (*TIME, *PERF, *SYSTEM, *BY_ROLE, *BY_DEVICE, *CLUSTER)
