"""What would make a run fit that does not: single changes of its settings, each computed by the memory plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.cluster.byte_units import format_bytes
from engine.cluster.eight_bits import eight_bits_installed
from engine.config import RunConfig, build_config, set_field
from engine.config.learning import ON_A_CPU, ON_A_GPU
from engine.errors import ConfigError

LORA_RANK = 64
FEWER_TOKENS = (8192, 4096, 2048, 1024)
MORE_LEARNERS = (2, 4, 8)
FEWER_EPISODES = (128, 64, 32)
FEWER_ROWS = (128, 64, 32, 16, 8)

Changes = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Bytes of the fullest device: the least that works, and with the settings as they are."""

    certain: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Changes by dotted field, and what the run then needs of the fullest device. `enough` if that fits."""

    changes: Changes
    needs: int
    enough: bool

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={_text(value)}" for name, value in self.changes.items())
        return f"{settings}: {format_bytes(self.needs)}"


Plan = Callable[[RunConfig], Need | None]  # None for a configuration that cannot run for another reason


def alternatives(config: RunConfig, room: int, need: Plan, *, gpu: bool) -> list[Alternative]:
    """Single changes after which `config` fits into `room` bytes by the plan `need`; where there is none, several
    changes together. Empty if not even all of them are enough. `gpu`: whether the run trains on one."""
    kinds = _kinds(config, gpu=gpu)
    single = [found for kind in kinds for changes in kind if (found := _tried(config, changes, room, need))]
    if fitting := list(_smallest_steps(single)):
        return fitting
    together: Changes = {}
    for kind in kinds:
        tried = [found for changes in kind if (found := _tried(config, {**together, **changes}, room, need))]
        if fits := next((one for one in tried if one.enough), None):
            return [_mildest(config, fits, room, need, kinds)]
        together = tried[-1].changes if tried else together
    return []


def what_would_fit(found: list[Alternative]) -> str:
    """The changes as one sentence."""
    if not found:
        return "No change of its settings makes it fit: use a smaller model, or more learners with the ray backend."
    return f"It fits with {'; or with '.join(map(str, found))}."


def _mildest(config: RunConfig, found: Alternative, room: int, need: Plan, kinds: list[list[Changes]]) -> Alternative:
    """The same without what is not needed, and with the smallest change of each field that is."""
    for kind in kinds:
        others = {name: value for name, value in found.changes.items() if name not in kind[0]}
        if len(others) == len(found.changes):
            continue
        milder = (_tried(config, {**others, **changes}, room, need) for changes in ({}, *kind))
        found = next((one for one in milder if one and one.enough), found)
    return found


def _smallest_steps(tried: list[Alternative]) -> Iterator[Alternative]:
    """Of several values for the same fields the first that fits."""
    seen: set[tuple[str, ...]] = set()
    for one in tried:
        key = tuple(one.changes)
        if one.enough and key not in seen:
            seen.add(key)
            yield one


def _tried(config: RunConfig, changes: Changes, room: int, need: Plan) -> Alternative | None:
    data = config.model_dump(mode="json")
    for name, value in changes.items():
        set_field(data, name, value)
    try:
        needs = need(build_config(data))
    except ConfigError:
        return None
    return Alternative(changes=changes, needs=needs.total, enough=needs.total <= room) if needs else None


def _kinds(config: RunConfig, *, gpu: bool) -> list[list[Changes]]:
    """Changes that take memory off, those that cost least first; each kind from the smallest change to the largest."""
    optimizer, cluster, evaluation = config.optimizer, config.cluster, config.evaluation
    found: list[list[Changes]] = []
    if config.diagnostics.gradients_every:
        found.append([{"diagnostics.gradients_every": 0}])
    if not optimizer.gradient_checkpointing:
        found.append([{"optimizer.gradient_checkpointing": True}])
    at_once = optimizer.micro_batch_tokens or (ON_A_GPU if gpu else ON_A_CPU)
    found.append([{"optimizer.micro_batch_tokens": tokens} for tokens in FEWER_TOKENS if tokens < at_once])
    if config.backend == "local" or cluster.sampler == "torch":
        rows = config.rollout.rows_at_once or max(_trajectories(config), evaluation.episodes, evaluation.final_episodes)
        found.append([{"rollout.rows_at_once": few} for few in FEWER_ROWS if few < rows])
        most = max(evaluation.episodes, evaluation.final_episodes)
        most = min(most, evaluation.episodes_at_once or most)
        found.append([{"evaluation.episodes_at_once": few} for few in FEWER_EPISODES if few < most])
    if optimizer.precision == "float32":
        found.append([{"optimizer.precision": "bfloat16"}])
    if config.backend == "ray":
        found.append(
            [
                {"cluster.learners": count, **_samplers(config, count)}
                for count in MORE_LEARNERS
                if count > cluster.learners
            ]
        )
    if optimizer.moments != "8bit" and eight_bits_installed():  # after the learners, of which they take only one
        found.append([{"optimizer.moments": "8bit"}])
    if not config.model.lora.rank and not config.model.adapter:
        found.append([{"model.lora.rank": LORA_RANK}])
    return [kind for kind in found if kind]


def _trajectories(config: RunConfig) -> int:
    return config.rollout.groups * config.rollout.group_size


def _samplers(config: RunConfig, learners: int) -> Changes:
    """Colocated samplers share their GPUs with the learners, so there are as many."""
    return {"cluster.samplers": learners} if config.cluster.placement == "colocated" else {}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
