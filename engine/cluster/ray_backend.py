"""A run on a Ray cluster: samplers and learners are actors, this process is their driver and holds no model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from engine.cluster.actors import Troupe
from engine.cluster.connection import connect, disconnect, import_ray
from engine.cluster.evidence import evidence
from engine.cluster.faults import ClusterFault
from engine.cluster.needs import needs_of
from engine.cluster.placement import reserve
from engine.cluster.shards import shards_of
from engine.cluster.waiting import ActorDied, PhaseHangs, results
from engine.cluster.weight_transfer import WAYS, Asked, WeightTransfer
from engine.config import RunConfig
from engine.diagnostics.cross_scores import Pairs
from engine.errors import ConfigError, ModelError
from engine.policies.loading import load_tokenizer
from engine.rollout.batching import Batch, collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Trajectory
from engine.training.backend import Metrics, never
from engine.training.checkpoint import Progress

# A run may leave within these; an update that was begun, a save or a sync is done to its end.
LEAVABLE = frozenset({"Start", "Rollout", "Scoring", "Diagnostics"})
REPLACEMENTS = 3  # samplers that may die within one rollout
PROBE_TOKENS = 64
PROBE_NATS = {"float32": 0.01, "bfloat16": 0.5}  # what sampler and learner may differ by, by the token


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How the backend speaks: `tell` what it waits for, `warn` of what went wrong and was mended; `checkpoint` raises
    to leave."""

    tell: Callable[[str], None]
    warn: Callable[[str], None]
    checkpoint: Callable[[], None] = never


class RayBackend:
    def __init__(self, config: RunConfig, directory: Path, voice: Voice) -> None:
        self.config, self.directory, self.voice = config, directory, voice
        self.context = ContextManager(load_tokenizer(config.model.path), think=config.rollout.think)
        self.troupe: Troupe | None = None
        self.metrics: Metrics = {}
        self.transfer: WeightTransfer | None = None
        self.probe: list[list[int]] = []
        self.asleep = False

    @classmethod
    def open(cls, config: RunConfig, found: Path | None, directory: Path, voice: Voice) -> tuple[RayBackend, Progress]:
        """Connects, waits for what the run needs, and loads it, from the checkpoint `found` where there is one."""
        backend = cls(config, directory, voice)
        try:
            return backend, backend._open(found)
        except BaseException:
            backend.close()
            raise

    def _open(self, found: Path | None) -> Progress:
        cluster = self.config.cluster
        self.voice.tell("connecting to Ray")
        where = connect(needs_of(cluster, gpus=False).cpus, namespace=f"starboard-{os.getpid()}-{time.time_ns()}")
        gpus = cluster.device == "gpu" or (cluster.device == "auto" and self._has_gpus())
        needs = needs_of(cluster, gpus=gpus)
        way = self._way_of_weights(gpus)
        self.voice.tell(f"waiting for {where}")
        group = reserve(needs, minutes=cluster.wait_minutes, tell=self.voice.tell, checkpoint=self.voice.checkpoint)
        self.troupe = Troupe(config=self.config, needs=needs, group=group, stacks=self.directory / "stacks", way=way)
        self.transfer = WAYS[way](self.troupe, self._synced)
        self.voice.tell("starting samplers and learners")
        self.troupe.hire()
        self._note_places("Start", [*self.troupe.learners, *self.troupe.samplers])
        meeting = self._of_learners("Start", "address")[0]
        told = self._of_learners("Start", "open", meeting, str(found or ""), cluster.phase_minutes)[0]
        for note in told["notes"]:
            self.voice.tell(note)
        self.device, self.parameters = told["device"], told["parameters"]
        self.trainable_parameters = told["trainable_parameters"]
        self.sync()
        progress: Progress = told["progress"]
        return progress

    def _has_gpus(self) -> bool:
        return bool(import_ray().cluster_resources().get("GPU", 0))

    def _way_of_weights(self, gpus: bool) -> str:
        try:
            return self.config.cluster.way_of_weights(gpus=gpus)
        except ValueError as error:
            raise ConfigError(f"cluster.{error}") from None

    def play(
        self,
        specs: Sequence[EpisodeSpec],
        *,
        temperature: float,
        seeds: list[int],
        checkpoint: Callable[[], None] = never,
    ) -> tuple[list[Trajectory], int]:
        """Each sampler has whole groups. One that dies is replaced, and plays its share again from the start."""
        troupe = self._troupe()
        self._wake()
        shards = shards_of(specs, len(troupe.samplers))
        found: list[Any] = [None] * len(shards)
        waiting = list(range(len(shards)))
        for _ in range(1 + REPLACEMENTS):
            asked = [
                troupe.samplers[place].play.remote(
                    shards[place], temperature=temperature, seeds=[*seeds, place] if place else seeds
                )
                for place in waiting
            ]
            died = []
            for place, reference in zip(waiting, asked, strict=True):
                try:
                    found[place] = self._results("Rollout", [reference], [f"sampler {place}"], checkpoint)[0]
                except ActorDied as death:
                    died.append(place)
                    self._replace(place, death)
            waiting = died
            if not waiting:
                return self._together(found)
        raise ClusterFault(
            f"Samplers died in one rollout {REPLACEMENTS + 1} times running.",
            remedy="Look at their machines' memory; lower cluster.memory_share or rollout.groups.",
        )

    def _together(self, found: list[Any]) -> tuple[list[Trajectory], int]:
        refusals = [refusal for _, _, refusal in found]
        if all(refusals):
            raise refusals[0]
        trajectories = [trajectory for played, _, _ in found for trajectory in played]
        if not self.probe:
            self.probe = [trajectory.ids[:PROBE_TOKENS] for trajectory in trajectories[:2] if len(trajectory.ids) > 1]
        return trajectories, sum(sampled for _, sampled, _ in found)

    def _replace(self, place: int, death: ActorDied) -> None:
        troupe = self._troupe()
        self.voice.warn(f"{death.message} Another takes its place and plays its share again.")
        self.metrics["cluster/replaced_samplers"] = self.metrics.get("cluster/replaced_samplers", 0.0) + 1
        troupe.samplers[place] = troupe.sampler(place)
        self._note_places("Start", [troupe.samplers[place]])
        self._weight_transfer().revive(place)

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """In place: entropies, which vLLM does not tell, and log-probabilities, which it computes otherwise, and which
        are of an older policy where rollouts are ahead."""
        if self.config.cluster.sampler == "torch" and not self.config.cluster.overlap:
            return
        self._let_sleep()
        known = [trajectory for trajectory in trajectories if trajectory.reply_tokens]
        if not known:
            return
        began = time.monotonic()
        logprobs, entropies = self._of_learners("Scoring", "score", collate(known))[0]
        for row, trajectory in enumerate(known):
            length = len(trajectory.ids)
            trajectory.learner_logprobs = logprobs[row, :length].tolist()
            trajectory.entropies = entropies[row, :length].tolist()
            trajectory.knows_entropies = True
        self.metrics["time/score"] = time.monotonic() - began

    def cross_scores(self, pairs: Pairs) -> Tensor:
        found: Tensor = self._of_learners("Diagnostics", "cross_scores", pairs)[0]
        return found

    def gradients(self, batch: Batch, *, scale: float = 1.0) -> Metrics:
        found: Metrics = self._of_learners("Diagnostics", "gradients", batch, scale=scale)[0]
        return found

    def learn(self, batch: Batch, *, step: int, scale: float) -> tuple[Tensor, Metrics]:
        self._let_sleep()
        advantages, metrics = self._of_learners("Update", "learn", batch, step=step, scale=scale)[0]
        return advantages, metrics

    def change(self, config: RunConfig) -> None:
        self.config = config
        self._of_learners("Settings", "change", config.model_dump_json())

    def adopt(self, learned: Path) -> None:
        self._of_learners("Start", "adopt", str(learned))

    def sync(self) -> None:
        """Gives the samplers the learner's weights, past this process, and asks both what they find of some tokens."""
        began = time.monotonic()
        self._wake()
        self._weight_transfer().send()
        if self.probe:
            self._prove()
        self.metrics["time/sync"] = self.metrics.get("time/sync", 0.0) + time.monotonic() - began

    def _let_sleep(self) -> None:
        """Colocated samplers give their memory to the learners they share devices with."""
        if self.config.cluster.placement == "colocated" and not self.asleep:
            self._of_samplers("Going to sleep", "sleep")
            self.asleep = True

    def _wake(self) -> None:
        if self.asleep:
            self._of_samplers("Waking up", "wake")
            self.asleep = False

    def _prove(self) -> None:
        wanted = self._of_learners("Weight sync", "probe", self.probe)[0]
        gap = max(
            abs(theirs - ours)
            for found in self._of_samplers("Weight sync", "score", self.probe)
            for row, right in zip(found, wanted, strict=True)
            for theirs, ours in zip(row, right, strict=True)
        )
        self.metrics["cluster/probe_gap"] = gap
        half = self.config.optimizer.precision == "bfloat16" or self.device == "cuda"
        most = PROBE_NATS["bfloat16" if half else "float32"]
        if not gap <= most:
            raise ModelError(
                f"After a weight sync a sampler finds other log-probabilities than the learner: {gap:.3g} nats apart "
                f"on some token, where at most {most} comes of rounding. It does not hold the learner's weights.",
                remedy="Use cluster.weight_transfer object_store, or cluster.sampler torch, for this model, and report "
                "it.",
            )

    def _synced(self, asked: Sequence[Asked]) -> list[Any]:
        return self._results("Weight sync", [reference for _, reference in asked], [name for name, _ in asked])

    def save(self, directory: Path, progress: Progress) -> Path:
        return Path(self._of_learners("Checkpoint", "save", str(directory), progress)[0])

    def take_metrics(self) -> Metrics:
        taken, self.metrics = self.metrics, {}
        return taken

    def close(self) -> None:
        """Ends the actors; warns of any that Ray still shows after some seconds."""
        if self.troupe is not None and (left := self.troupe.dismiss()):
            self.voice.warn(f"Ray still shows {', '.join(sorted(left))} some seconds after they were ended.")
        disconnect()

    def _troupe(self) -> Troupe:
        if self.troupe is None:
            raise ValueError("The backend is not open.")
        return self.troupe

    def _weight_transfer(self) -> WeightTransfer:
        if self.transfer is None:
            raise ValueError("The backend is not open.")
        return self.transfer

    def _note_places(self, what: str, actors: list[Any]) -> None:
        names = [f"actor {place}" for place in range(len(actors))]
        self._troupe().note(self._results(what, [actor.place.remote() for actor in actors], names))

    def _of_samplers(self, what: str, method: str, *given: Any) -> list[Any]:
        samplers = self._troupe().samplers
        asked = [getattr(sampler, method).remote(*given) for sampler in samplers]
        return self._results(what, asked, [f"sampler {place}" for place in range(len(samplers))])

    def _of_learners(self, what: str, method: str, *given: Any, **named: Any) -> list[Any]:
        """The same call to all of them; what is large travels once."""
        ray = import_ray()
        learners = self._troupe().learners
        shared = [ray.put(one) if isinstance(one, Batch) else one for one in given]
        asked = [getattr(learner, method).remote(*shared, **named) for learner in learners]
        return self._results(what, asked, [f"learner {place}" for place in range(len(learners))])

    def _results(
        self, what: str, references: list[Any], names: list[str], checkpoint: Callable[[], None] | None = None
    ) -> list[Any]:
        usual = self.voice.checkpoint if what in LEAVABLE else never
        try:
            return results(
                references,
                what=what,
                minutes=self.config.cluster.phase_minutes,
                checkpoint=checkpoint or usual,
                names=names,
            )
        except PhaseHangs as hang:
            self._troupe().write_stacks()
            self.voice.warn(f"{hang.message} {evidence(self.directory / 'stacks', self.directory / 'engine.log')}")
            raise
