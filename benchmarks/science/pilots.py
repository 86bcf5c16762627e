"""Pilot runs: short ones, each with settings of its own, that look for the cause of something. What each did from its
start to its end, and whether that was a slow collapse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.science.measure import curve
from engine.config import read_config
from engine.diagnostics.recordings import read_recording
from engine.sweeps.catalogue import CONFIGS

MI, ENTROPY = "collapse/mi_ratio", "collapse/conditional_entropy"
TOKEN_ENTROPY = "collapse/conditional_entropy_token"  # H(Z|X) as arXiv 2604.06268 has it, per token
SUCCESS, RETURN, STD = "rollout/success", "reward/mean", "reward/within_group_std"
WELL_FORMED = "rollout/parse_ok_rate"
METRICS = (
    MI, ENTROPY, SUCCESS, RETURN, STD, WELL_FORMED, "policy/entropy", TOKEN_ENTROPY,
    "collapse/retrieval_above_chance", "rollout/zero_variance_share", "rollout/response_tokens",
)  # fmt: skip
GRADIENTS = ("gradient/all/task", "gradient/all/entropy")  # of runs that decompose them
CPU = "system/process_cpu_cores"

READINGS = 3  # diagnoses that a start and an end are the mean of
STEPS = 20  # steps that they are of metrics of every step
POINTS = 40  # of a stored curve

# what a slow collapse is; each is explained in docs/findings/slow_collapse.md
MI_LEFT = 0.5  # of its start: thoughts no longer depend on the prompt
ENTROPY_LEFT = 0.8  # of its start per token, or more: thoughts stay varied
FORMAT_LEFT = 0.9  # of responses, or more: it is not the format that broke
SUCCESS_LEFT = 0.75  # of its start, or more: the reward hardly moves
SLOW = 100  # steps, or more, until mutual information is lost

NOT_SETTINGS = ("preset", "description", "seed", "steps", "threads", "backend")
NOT_LEARNING = ("evaluation", "checkpoint", "capture", "diagnostics", "detectors", "stop", "cluster")

Curve = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """`settings` are the fields in which it departs from its preset, without those that do not change learning."""

    name: str
    preset: str
    settings: dict[str, Any]
    seed: int
    steps: int
    minutes: float  # of one CPU core
    curves: dict[str, list[list[float]]]

    @property
    def outcome(self) -> str:
        return outcome_of(self.steps, self.lost_at, self.before, self.after)

    @property
    def lost_at(self) -> int | None:
        """The step from which mutual information stayed at half of its start or less; None if it did not."""
        low = MI_LEFT * self.before(MI)
        above = [step for step, value in self.curves[MI] if value > low]
        later = [int(step) for step, _ in self.curves[MI] if not above or step > above[-1]]
        return later[0] if later else None

    def before(self, metric: str) -> float:
        values = self._of(metric)
        return fmean(values[: self._width(values)])

    def after(self, metric: str) -> float:
        values = self._of(metric)
        return fmean(values[-self._width(values) :])

    def _of(self, metric: str) -> list[float]:
        return [value for _, value in self.curves[metric]]

    def _width(self, values: Sequence[float]) -> int:
        """Of a diagnosis three readings, of every step twenty; never more than a third of all."""
        most = READINGS if len(values) < self.steps else STEPS
        return max(1, min(most, len(values) // 3))


def outcome_of(steps: int, lost_at: int | None, before: Callable[[str], float], after: Callable[[str], float]) -> str:
    """In one or two words, the first that applies."""
    if after(WELL_FORMED) < FORMAT_LEFT:
        return "format broke"
    if steps < SLOW:
        return "too short"
    if after(MI) > 0.8 * before(MI):
        return "MI kept"
    if after(MI) > MI_LEFT * before(MI) or lost_at is None:
        return "MI fell in part"
    if after(TOKEN_ENTROPY) < ENTROPY_LEFT * before(TOKEN_ENTROPY):
        return "low entropy"
    if after(SUCCESS) < SUCCESS_LEFT * before(SUCCESS):
        return "success lost"
    return "slow collapse" if lost_at >= SLOW else "fast collapse"


def read_pilot(directory: Path) -> Pilot:
    recording = read_recording(directory)
    config = read_config(directory / "config.json")
    cores = sum(metrics.get(CPU, 1.0) * metrics["time/step"] for _, metrics in recording.steps)
    preset, base = preset_of(config.preset)
    return Pilot(
        name=directory.name,
        preset=preset,
        settings=departures(config.model_dump(mode="json"), base),
        seed=config.seed,
        steps=len(recording.steps),
        minutes=round(cores / 60, 2),
        curves={name: found for name in (*METRICS, *GRADIENTS) if (found := curve(recording, name))},
    )


def preset_of(title: str) -> tuple[str, dict[str, Any]]:
    """The file of a preset without its suffix, and the configuration in it. A `KeyError` where there is none."""
    for path in sorted(CONFIGS.glob("*.toml")):
        config = read_config(path)
        if config.preset == title:
            return path.stem, config.model_dump(mode="json")
    raise KeyError(f"no preset has the title {title!r}")


def departures(config: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """`{dotted field: value}` where `config` is not as `base`, of the settings that change what is learned."""
    ours, theirs = flat(config), flat(base)
    return {
        field: value
        for field, value in ours.items()
        if theirs.get(field) != value and field not in NOT_SETTINGS and field.partition(".")[0] not in NOT_LEARNING
    }


def flat(data: Any, prefix: str = "") -> dict[str, Any]:
    items: Iterable[tuple[str, Any]]
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list) and any(isinstance(one, dict) for one in data):
        items = ((str(index), one) for index, one in enumerate(data))
    else:
        return {prefix: data}
    found: dict[str, Any] = {}
    for key, value in items:
        found |= flat(value, f"{prefix}.{key}" if prefix else str(key))
    return found


def thinned(points: Curve, most: int = POINTS) -> list[list[float]]:
    """At most about `most` points: means of neighbouring ones, at the last step of each."""
    return in_blocks(points, -(-len(points) // most))


def in_blocks(points: Curve, width: int) -> list[list[float]]:
    """Means of `width` points in a row, at the last step of each."""
    blocks = [points[start : start + width] for start in range(0, len(points), width)]
    return [[block[-1][0], round(fmean(value for _, value in block), 4)] for block in blocks]
