"""Checks that a run can work on its machines, made before anything starts: by the form, and again at launch.

Only certain problems refuse a run; a run that may not fit gets a warning. No torch and no Ray.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import psutil

from engine.cluster.alternatives import Alternative, Need, alternatives, what_would_fit
from engine.cluster.byte_units import format_bytes
from engine.cluster.eight_bits import eight_bits_installed
from engine.cluster.forward_tokens import Planned, fitting_tokens, with_tokens
from engine.cluster.local_memory import LocalMemory, estimate_local
from engine.cluster.memory import MemoryEstimate, estimate, held_beside
from engine.cluster.resources import local_gpu_memory, required_resources
from engine.compilers import missing_compiler
from engine.config import RunConfig
from engine.errors import ConfigError, ModelError
from engine.policies.adapter_files import misfits, read_adapter
from engine.policies.lora_targets import unknown_targets
from engine.policies.model_shape import ModelShape, model_shape
from engine.policies.vllm_installation import check_installation, is_installed
from engine.policies.vllm_models import unsupported_by_vllm

P = TypeVar("P", bound=Planned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine a local cluster starts on. Bytes of memory of each known GPU, and of the machine."""

    gpus: tuple[int, ...]
    memory: int


@dataclass(slots=True, kw_only=True)
class Findings:
    """`problems` by dotted field. `memory` is None, with the reason in `unknown`, if the model is not on this
    machine. `alternatives` are changes after which a run fits that does not, or may not."""

    problems: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    alternatives: list[Alternative] = field(default_factory=list)
    memory: MemoryEstimate | LocalMemory | None = None
    unknown: str = ""


def this_machine() -> Machine | None:
    """None if `RAY_ADDRESS` names a cluster, whose machines are not known."""
    if os.environ.get("RAY_ADDRESS", "local") not in ("", "local"):
        return None
    return own_machine()


def own_machine() -> Machine:
    return Machine(gpus=local_gpu_memory(), memory=psutil.virtual_memory().total)


def check_machine(config: RunConfig, machine: Machine | None) -> Findings:
    """Checks a run on `machine`, or on an unknown cluster."""
    if config.backend == "ray":
        return check_cluster(config, machine)
    return check_local(config, machine or own_machine())


def check_local(config: RunConfig, machine: Machine) -> Findings:
    """Checks the memory of a run in one process, on the largest GPU of `machine` if it has any."""
    found = Findings()
    gpu = bool(machine.gpus)
    _check_moments(found, config)
    _check_compiler(found, config, gpu=gpu)
    try:
        shape = model_shape(config.model.versioned_path)
    except ModelError as error:
        found.unknown = str(error)
        _check_adapter(found, config, None)
        return found
    _check_targets(found, config, shape)
    _check_adapter(found, config, shape)
    memory = found.memory = estimate_local(config, shape, gpu=gpu)
    where, room = ("a GPU", max(machine.gpus)) if gpu else ("this machine", machine.memory)
    if memory.total <= room:
        return found
    fewer = _fewer_tokens(config, partial(estimate_local, shape=shape, gpu=gpu), memory.tokens, room)
    if fewer is not None and fewer.total <= room:
        found.memory = fewer
        found.warnings.append(_takes_fewer(fewer, memory, f"{where} has {format_bytes(room)}"))
        return found
    found.alternatives = alternatives(config, room, lambda other: _local_need(other, shape, gpu=gpu), gpu=gpu)
    if memory.certain > room:
        found.problems["model.path"] = (
            f"The run needs at least {format_bytes(memory.certain)}, and {where} has {format_bytes(room)}: weights, "
            f"gradients and the optimiser. {what_would_fit(found.alternatives)}"
        )
    else:
        found.warnings.append(
            f"The run may need up to {format_bytes(memory.total)}, and {where} has {format_bytes(room)}. "
            f"{what_would_fit(found.alternatives)}"
        )
    return found


def _fewer_tokens(config: RunConfig, plan: Callable[[RunConfig], P], usual: int, room: int) -> P | None:
    """The plan with as many tokens at once as fit, as the run takes them (`engine.training.forward_size`); None where
    their number is configured, or is not enough."""
    if config.optimizer.micro_batch_tokens:
        return None
    fewer = plan(with_tokens(config, fitting_tokens(config, plan, usual=usual, room=room)))
    return fewer if fewer.learner.total <= room else None


def _takes_fewer(fewer: Planned, usual: Planned, has: str) -> str:
    """`has`: what has how much room, as in "a GPU has 80.0 GiB"."""
    return (
        f"{fewer.tokens:,} tokens go through the model at once, since with {usual.tokens:,} training may need "
        f"{format_bytes(usual.learner.total)}, and {has}. Results are the same."
    )


def _local_need(config: RunConfig, shape: ModelShape, *, gpu: bool) -> Need:
    memory = estimate_local(config, shape, gpu=gpu)
    return Need(certain=memory.certain, total=memory.total)


def check_cluster(config: RunConfig, machine: Machine | None) -> Findings:
    """Checks a run with the ray backend on `machine`, or on an unknown cluster."""
    found = Findings()
    gpu = _on_gpus(config, machine)
    _check_weight_transfer(found, config, gpu=gpu)
    _check_work_for_all(found, config)
    _check_work_for_environment_actors(found, config)
    if machine is not None and gpu and machine.gpus:
        _check_number_of_gpus(found, config, machine)
    if machine is not None:
        _check_moments(found, config)
        _check_compiler(found, config, gpu=gpu)
    try:
        shape = model_shape(config.model.versioned_path)
    except ModelError as error:
        found.unknown = str(error)
        _check_adapter(found, config, None)
        return found
    _check_targets(found, config, shape)
    _check_adapter(found, config, shape)
    memory = found.memory = estimate(config, shape, gpu=gpu)
    if config.cluster.sampler == "vllm":
        _check_vllm(found, config, shape)
    if machine is not None and gpu and machine.gpus:
        _check_gpu(found, config, shape, memory, max(machine.gpus))
    elif machine is not None and not gpu:
        _check_own_memory(found, config, shape, machine.memory)
    return found


def require_feasible(config: RunConfig) -> None:
    """`ConfigError` for the first problem."""
    machine = this_machine()
    for name, why in check_machine(config, machine).problems.items():
        raise ConfigError(f"{name}: {why}")
    if config.backend == "ray" and config.cluster.sampler == "vllm" and (machine is not None or is_installed()):
        _require_loadable_vllm()


def _require_loadable_vllm() -> None:
    """Checks the installation on this machine. Only at launch: processes that serve the form need no vLLM."""
    try:
        check_installation()
    except ModelError as error:
        raise ConfigError(f"cluster.sampler: {error.message}", remedy=error.remedy) from None


def _on_gpus(config: RunConfig, machine: Machine | None) -> bool:
    """A cluster at an address is assumed to have GPUs."""
    if config.cluster.device == "auto":
        return machine is None or bool(machine.gpus)
    return config.cluster.device == "gpu"


def _check_weight_transfer(found: Findings, config: RunConfig, *, gpu: bool) -> None:
    try:
        config.cluster.weight_transfer_method(gpus=gpu)
    except ValueError as error:
        found.problems["cluster.weight_transfer"] = str(error).partition(": ")[2]


def _check_moments(found: Findings, config: RunConfig) -> None:
    if config.optimizer.moments == "8bit" and not eight_bits_installed():
        found.problems["optimizer.moments"] = (
            "8bit needs the package bitsandbytes, which this machine lacks: pip install 'starboard[8bit]', or use "
            "float32."
        )


def _check_compiler(found: Findings, config: RunConfig, *, gpu: bool) -> None:
    missing = missing_compiler("cuda" if gpu else "cpu") if config.optimizer.compile_scores else ""
    if missing:
        found.problems["optimizer.compile_scores"] = (
            f"It needs {missing}, which this machine lacks. Install one, or turn it off."
        )


def _check_targets(found: Findings, config: RunConfig, shape: ModelShape) -> None:
    if why := unknown_targets(shape, config.model.lora):
        found.problems["model.lora.targets"] = why


def _check_adapter(found: Findings, config: RunConfig, shape: ModelShape | None) -> None:
    """The adapter that the run starts from; `shape` is None if the model is not on this machine."""
    if not config.starts_from_adapter:
        return
    try:
        adapter = read_adapter(config.model.adapter)
    except ModelError as error:
        found.problems["model.adapter"] = str(error)
        return
    found.problems |= dict(misfits(adapter, config.model.lora, shape))


def _check_work_for_all(found: Findings, config: RunConfig) -> None:
    samplers, groups = config.cluster.samplers, config.rollout.groups
    if samplers > groups:
        found.warnings.append(
            f"A group stays with one sampler, and a step has {groups} group{'s' if groups != 1 else ''} for {samplers} "
            f"samplers: {samplers - groups} of them would be idle. Use fewer, or raise rollout.groups."
        )


def _check_work_for_environment_actors(found: Findings, config: RunConfig) -> None:
    actors, trajectories = config.cluster.environment_actors, config.rollout.groups * config.rollout.group_size
    if actors > trajectories:
        found.warnings.append(
            f"A trajectory stays with one environment actor, and a step has {trajectories} for {actors} of them: "
            f"{actors - trajectories} would be idle. Use fewer, or raise rollout.groups."
        )


def _check_number_of_gpus(found: Findings, config: RunConfig, machine: Machine) -> None:
    needed = required_resources(config.cluster, gpus=True).gpus
    if needed > len(machine.gpus):
        found.problems["cluster.samplers"] = (
            f"Samplers and learners need {_gpus(needed)} together, and this machine has {len(machine.gpus)}. Lower "
            "samplers, learners or tensor_parallel, choose the colocated placement, or name a cluster in RAY_ADDRESS."
        )


def _check_vllm(found: Findings, config: RunConfig, shape: ModelShape) -> None:
    """Heads as vLLM splits them: evenly, or each key-value head on several GPUs (see its `ModelConfig` and models)."""
    if why := unsupported_by_vllm(shape.architecture, shape.model_type, latent=shape.latent > 0):
        found.problems["cluster.sampler"] = f"{why} Use torch, or another model."
    size = config.cluster.tensor_parallel
    if not splits(shape, size):
        able = [str(count) for count in range(1, shape.heads + 1) if splits(shape, count)]
        found.problems["cluster.tensor_parallel"] = (
            f"vLLM cannot split this model over {size} GPUs: it has {shape.heads} attention heads, {shape.kv_heads} of "
            f"keys and values, and {shape.intermediate} feed-forward units. Use {' or '.join(able)}."
        )


def splits(shape: ModelShape, size: int) -> bool:
    """Whether vLLM can split the model over `size` GPUs."""
    dense = any(shape.intermediate in sizes for sizes in shape.matrices.values())  # experts have other constraints
    if shape.heads % size or (dense and shape.intermediate % size):
        return False
    return shape.kv_heads % size == 0 or size % shape.kv_heads == 0


def _check_gpu(found: Findings, config: RunConfig, shape: ModelShape, memory: MemoryEstimate, gpu: int) -> None:
    cluster, sampler, learner = config.cluster, memory.sampler, memory.learner
    vllm = cluster.sampler == "vllm"
    share = cluster.memory_share if vllm else 1.0
    room = int(share * gpu)
    if sampler.certain > room:
        found.problems["cluster.memory_share" if vllm else "cluster.sampler"] = (
            f"A sampler needs {format_bytes(sampler.certain)} for its weights and one context of {memory.context:,} "
            f"tokens, and has {format_bytes(room)}, {share:.0%} of a GPU. "
            + ("Raise memory_share or tensor_parallel, lower" if vllm else "Use vllm with tensor_parallel, lower")
            + " rollout.max_context_tokens, or use a smaller model."
        )
    elif sampler.total > room and vllm:
        held = max(0, room - sampler.weights - sampler.work) // max(1, sampler.sequence)
        found.warnings.append(
            f"A sampler's share of its GPU, {format_bytes(room)}, holds about {held:,} full contexts at once of "
            f"{memory.rows:,}; the others are queued."
        )
    elif sampler.total > room:
        found.alternatives = alternatives(config, room, lambda other: _sampler_need(other, shape), gpu=True)
        found.warnings.append(
            f"A sampler may need up to {format_bytes(sampler.total)}, and a GPU has {format_bytes(room)}: "
            f"{format_bytes(sampler.cache)} for the cache of {memory.rows:,} trajectories of {memory.context:,} "
            f"tokens. {what_would_fit(found.alternatives)}"
        )
    left = gpu - held_beside(config, memory)
    if learner.total > left:
        has = f"a GPU has {format_bytes(gpu)}"
        if left < gpu:
            has = f"a GPU of {format_bytes(gpu)} has {format_bytes(max(0, left))} left beside the sampler"
        fewer = _fewer_tokens(config, partial(estimate, shape=shape, gpu=True), memory.tokens, left)
        if fewer is not None:
            found.memory = fewer
            found.warnings.append(_takes_fewer(fewer, memory, has))
        else:
            of_the_sampler = found.alternatives
            found.alternatives = alternatives(config, gpu, lambda other: _learner_need(other, shape), gpu=True)
            _report_learner(found, memory, left, has)
            found.alternatives = [*of_the_sampler, *found.alternatives]
    if cluster.placement == "colocated" and "cluster.memory_share" not in found.problems:
        _check_shared_gpu(found, memory, gpu=gpu, room=room if vllm else sampler.certain)


def _report_learner(found: Findings, memory: MemoryEstimate, room: int, has: str) -> None:
    """`has` says what has `room` bytes, as in `_takes_fewer`."""
    learner, fits = memory.learner, what_would_fit(found.alternatives)
    if learner.certain <= room:
        found.warnings.append(
            f"A learner may need up to {format_bytes(learner.total)}, with {memory.tokens:,} tokens at once, and "
            f"{has}. {fits}"
        )
        return
    loaded_whole = memory.learners > 1 and learner.loading == learner.certain
    found.problems["cluster.learners"] = f"A learner needs at least {format_bytes(learner.certain)}, and {has}: " + (
        "its files cannot be read in parts, so each learner loads the whole model, and reference and critic if "
        "there are any, before they are sharded. Save it as safetensors, or use a smaller model."
        if loaded_whole
        else f"weights, gradients and the optimiser. {fits}"
    )


def _learner_need(config: RunConfig, shape: ModelShape) -> Need | None:
    if config.cluster.placement == "colocated" and config.cluster.learners != config.cluster.samplers:
        return None
    memory = estimate(config, shape, gpu=True)
    learner, beside = memory.learner, held_beside(config, memory)
    return Need(certain=learner.certain + beside, total=learner.total + beside)


def _sampler_need(config: RunConfig, shape: ModelShape) -> Need:
    sampler = estimate(config, shape, gpu=True).sampler
    return Need(certain=sampler.certain, total=sampler.total)


def _check_shared_gpu(found: Findings, memory: MemoryEstimate, *, gpu: int, room: int) -> None:
    """What a learner keeps between updates stays on the GPU while the sampler is awake."""
    if room + memory.learner.lasting > gpu:
        found.problems["cluster.memory_share"] = (
            f"Colocated, a GPU of {format_bytes(gpu)} must hold the sampler's {format_bytes(room)} and "
            f"the {format_bytes(memory.learner.lasting)} that a learner keeps between updates. Lower memory_share, use "
            "more learners or LoRA, or choose the disaggregated placement."
        )


def _check_own_memory(found: Findings, config: RunConfig, shape: ModelShape, available: int) -> None:
    need = _need_of_all(config, shape)
    if need.total <= available:
        return
    memory = estimate(config, shape, gpu=False)
    room = (available - memory.samplers * memory.sampler.total - memory.learner.host) // memory.learners
    fewer = _fewer_tokens(config, partial(estimate, shape=shape, gpu=False), memory.tokens, room)
    if fewer is not None:
        found.memory = fewer
        found.warnings.append(_takes_fewer(fewer, memory, f"each learner has {format_bytes(room)}"))
        return
    found.alternatives = alternatives(config, available, lambda other: _need_of_all(other, shape), gpu=False)
    fits = what_would_fit(found.alternatives)
    if need.certain > available:
        found.problems["cluster.learners"] = (
            f"All samplers and learners need at least {format_bytes(need.certain)} together, and this machine has "
            f"{format_bytes(available)}. Name a cluster in RAY_ADDRESS, or use fewer of them. {fits}"
        )
    else:
        found.warnings.append(
            f"All samplers and learners may need up to {format_bytes(need.total)} together, and this machine has "
            f"{format_bytes(available)}. {fits}"
        )


def _need_of_all(config: RunConfig, shape: ModelShape) -> Need:
    """Of one machine without GPUs, which all processes share."""
    memory = estimate(config, shape, gpu=False)
    sampler, learner = memory.sampler, memory.learner
    return Need(
        certain=memory.samplers * sampler.certain + memory.learners * learner.certain,
        total=memory.samplers * sampler.total + memory.learners * learner.total + learner.host,
    )


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' if count != 1 else ''}"
