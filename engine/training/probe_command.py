"""`python -m engine probe`: plays with a run's checkpoint, decomposes the gradient, and prints it. Nothing is
trained."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.config import RunConfig, read_config
from engine.diagnostics.gradients import COMPONENTS
from engine.errors import CheckpointError, RunDirectoryError
from engine.forking import begun_at, pin_start
from engine.rollout.batching import collate, trainable
from engine.rollout.env_state_manager import EnvStateManager
from engine.starting_adapter import with_pinned_adapter
from engine.training import checkpoint_folder
from engine.training.backend import LocalBackend
from engine.training.credit import with_normalized_scores
from engine.training.step_rollout import greedy_baselines

PROBE_STREAM = 7


def probe_run(directory: Path, *, chosen: str | None = None, overrides: list[str] | None = None) -> int:
    """Plays one batch with a run's checkpoint and prints gradient norms by bucket. Writes nothing, and needs no lock.

    `overrides` change settings for the probe, such as a KL penalty that the run did not have: `section.key=value`.
    """
    if not (directory / "config.json").is_file():
        raise RunDirectoryError(f"{directory} has no config.json.", remedy="Give the directory of a run.")
    config = read_config(directory / "config.json", overrides)
    path = _checkpoint(directory / "checkpoints", chosen)
    config = with_pinned_adapter(config, directory)
    metrics = probe_checkpoint(begun_at(config, pin_start(config, directory)), path)
    sys.stdout.write(f"{path.name}, {int(metrics['gradient/all/groups'])} groups\n{table(metrics)}\n")
    return 0


def probe_checkpoint(config: RunConfig, path: Path) -> dict[str, float]:
    """The decomposition for a new batch of training problems under the checkpoint at `path`."""
    backend, progress = LocalBackend.open(config, path)
    manager = EnvStateManager.of(config)
    step = progress.step + 1
    specs = manager.training_batch(step)
    trajectories, _ = backend.play(
        specs, temperature=config.rollout.temperature, seeds=[config.seed, step, PROBE_STREAM]
    )
    baselines: dict[int, float] = {}
    if config.algorithm.greedy_baseline:
        baselines, _ = greedy_baselines(backend, specs, trajectories)
    batch = collate([trajectories[index] for index in trainable(trajectories)], baselines=baselines)
    return backend.gradients(with_normalized_scores(config.algorithm, batch))


def _checkpoint(directory: Path, chosen: str | None) -> Path:
    found = directory / chosen if chosen else checkpoint_folder.latest_valid(directory)
    if found is None or found.parent != directory or not checkpoint_folder.is_valid(found):
        known = ", ".join(path.name for path in checkpoint_folder.checkpoints(directory)) or "none"
        raise CheckpointError(
            f"There is no valid checkpoint {chosen or ''} in {directory}.".replace("  ", " "),
            remedy=f"Use one of: {known}.",
        )
    return found


COLUMNS = ("groups", "reward_std", *COMPONENTS, "regularizer_share")


def table(metrics: dict[str, float]) -> str:
    """One row per bucket, in order of the standard deviation."""
    buckets = list(dict.fromkeys(name.split("/")[1] for name in metrics))
    lines = ["bucket     " + "".join(f"{column:>19}" for column in COLUMNS)]
    for bucket in [*buckets[1:], *buckets[:1]]:
        lines.append(f"{bucket:<11}" + "".join(f"{metrics[f'gradient/{bucket}/{name}']:>19.4g}" for name in COLUMNS))
    return "\n".join(lines)
