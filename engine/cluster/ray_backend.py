"""A run on a Ray cluster: samplers, learners and environments are actors. This process drives them, with no model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from torch import Tensor

from engine.cluster.actor_crew import Stages
from engine.cluster.actors import Asked, Troupe, of_environments, of_learners, of_samplers
from engine.cluster.connection import connect, connect_again, disconnect, import_ray
from engine.cluster.earlier import worked_on_gpus
from engine.cluster.environment_actor import Rollout
from engine.cluster.evidence import evidence
from engine.cluster.faults import ClusterFault
from engine.cluster.gpu_use import by_role
from engine.cluster.needs import needs_of
from engine.cluster.placement import reserve, unless_lost
from engine.cluster.shards import shards_of
from engine.cluster.voice import Voice
from engine.cluster.waiting import ActorDied, PhaseHangs, results
from engine.cluster.weight_transfer import WAYS, WeightTransfer
from engine.config import RunConfig
from engine.diagnostics.cross_scores import Pairs
from engine.errors import ConfigError, ModelError
from engine.policies.loading import load_tokenizer
from engine.policies.weight_sums import agree
from engine.rollout.batching import Batch, collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Trajectory
from engine.training.backend import Metrics, never
from engine.training.checkpoint import Progress

# A run may leave within these; an update that was begun, a save or a sync is done to its end.
LEAVABLE = frozenset({"Start", "Rollout", "Scoring", "Diagnostics"})
REPLACEMENTS = 3  # times that what was lost of one rollout is played again
PROBE_TOKENS, FIXED_TOKENS = 64, 24
PROBE = "Where sampler and learner hold the same weights, they find the same words to be as likely."
OTHER_WAY = "Use cluster.weight_transfer object_store, or cluster.sampler torch, for this model, and report it."
TIMES = {  # what a phase's seconds are told as
    "Rollout": "time/rollout",
    "Scoring": "time/score",
    "Diagnostics": "time/diagnostics",
    "Update": "time/update",
    "Weight sync": "time/sync",
    "Checkpoint": "time/checkpoint",
}
PROBE_NATS = {"float32": 0.01, "bfloat16": 0.5}  # what sampler and learner may differ by, by the token


class RayBackend:
    def __init__(self, config: RunConfig, directory: Path, voice: Voice) -> None:
        self.config, self.directory, self.voice = config, directory, voice
        self.context = ContextManager(load_tokenizer(config.model.path), think=config.rollout.think)
        self.troupe: Troupe | None = None
        self.metrics: Metrics = {}
        self.transfer: WeightTransfer | None = None
        self.fixed = fixed_probe(self.context, config.rollout.max_context_tokens)
        self.probe: list[list[int]] = []
        self.asleep = False
        self.rollouts = count()
        self.closed = False

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
        again = found is not None or int(os.environ.get("STARBOARD_ATTEMPT", "1")) > 1
        self.voice.tell("connecting to Ray")
        where = self._connect(again=again)
        gpus = cluster.device == "gpu" or (cluster.device == "auto" and self._has_gpus(again=again))
        needs = needs_of(cluster, gpus=gpus)
        way = self._weight_transfer_method(gpus)
        self.voice.tell(f"waiting for {where}")
        group = reserve(needs, minutes=cluster.wait_minutes, tell=self.voice.tell, checkpoint=self.voice.checkpoint)
        self.troupe = Troupe(config=self.config, needs=needs, group=group, stacks=self.directory / "stacks", way=way)
        self.transfer = WAYS[way](self.troupe, self._synced)
        self.voice.tell("starting samplers and learners")
        self.troupe.hire()
        troupe = self.troupe
        self._note_places([*of_learners(troupe, "place"), *of_samplers(troupe, "place"), *of_environments(troupe)])
        meeting = self._of_learners("Start", "address")[0]
        opening = of_learners(troupe, "open", meeting, str(found or ""), cluster.phase_minutes)
        told = self._asked("Start", [*opening, *of_samplers(troupe, "open")])[0]
        for note in told["notes"]:
            self.voice.tell(note)
        self.device, self.parameters = told["device"], told["parameters"]
        self.trainable_parameters = told["trainable_parameters"]
        self.sync()
        progress: Progress = told["progress"]
        return progress

    def _connect(self, *, again: bool) -> str:
        cores, namespace = needs_of(self.config.cluster, gpus=False).cpus, f"starboard-{os.getpid()}-{time.time_ns()}"
        if not again:
            return connect(cores, namespace=namespace)
        minutes, voice = self.config.cluster.wait_minutes, self.voice
        return connect_again(cores, namespace=namespace, minutes=minutes, tell=voice.tell, checkpoint=voice.checkpoint)

    def _has_gpus(self, *, again: bool) -> bool:
        """Those of a cluster elsewhere may come back later than its head."""
        late = again and bool(os.environ.get("RAY_ADDRESS")) and worked_on_gpus(self.directory / "events.jsonl")
        return late or bool(import_ray().cluster_resources().get("GPU", 0))

    def _weight_transfer_method(self, gpus: bool) -> str:
        try:
            return self.config.cluster.weight_transfer_method(gpus=gpus)
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
        """Each sampler has whole groups. One that dies is replaced, and plays its share again from the start. With an
        environment actor go the trajectories that it was playing; a share of which none is left is played again too."""
        troupe = self._troupe()
        self._wake()
        shards = shards_of(specs, len(troupe.samplers))
        found: list[Any] = [None] * len(shards)
        waiting = list(range(len(shards)))
        self._see_to_environments(checkpoint)
        lost = 0
        for attempt in range(1 + REPLACEMENTS):
            asked = [
                troupe.samplers[place].play.remote(
                    shards[place],
                    temperature=temperature,
                    seeds=[*seeds, place] if place else seeds,
                    stages=self._stages(place, shards),
                )
                for place in waiting
            ]
            died = []
            for place, reference in zip(waiting, asked, strict=True):
                try:
                    found[place] = self._results("Rollout", [reference], [f"sampler {place}"], checkpoint)[0]
                except ActorDied as death:
                    checkpoint()  # in a run that is over it was ended with the others
                    died.append(place)
                    self._replace(place, death)
            gone = self._see_to_environments(checkpoint)
            lost += gone
            emptied = [place for place in waiting if gone and place not in died and found[place][2] is not None]
            if not died and (not emptied or attempt == REPLACEMENTS):
                self._note_gpus("sampler", troupe.samplers)
                return self._together(found, lost=lost)
            waiting = [*died, *emptied]
        raise ClusterFault(
            f"Samplers died in one rollout {REPLACEMENTS + 1} times running.",
            remedy="Look at their machines' memory; lower cluster.memory_share or rollout.groups.",
        )

    def _stages(self, place: int, shards: list[list[EpisodeSpec]]) -> Stages | None:
        """Trajectories are spread evenly over the environment actors, whichever sampler they are of."""
        actors, rollout = self._troupe().environments, Rollout(sampler=place, number=next(self.rollouts))
        return Stages(actors=actors, rollout=rollout, first=sum(map(len, shards[:place]))) if actors else None

    def _together(self, found: list[Any], *, lost: int) -> tuple[list[Trajectory], int]:
        """`lost` environment actors died meanwhile."""
        refusals = [refusal for _, _, refusal in found]
        if all(refusals) and lost:
            raise ClusterFault(f"Nothing of a rollout is left, in which {lost} environment actors died. {refusals[0]}")
        if all(refusals):
            raise refusals[0]
        trajectories = [trajectory for played, _, _ in found for trajectory in played]
        if not self.probe:
            self.probe = [trajectory.ids[:PROBE_TOKENS] for trajectory in trajectories[:2] if len(trajectory.ids) > 1]
        return trajectories, sum(sampled for _, sampled, _ in found)

    def _replace(self, place: int, death: ActorDied) -> None:
        troupe = self._troupe()
        self.voice.warn(f"{death.message} Another takes its place and plays its share again.")
        self._count("cluster/replaced_samplers")
        self._hire_again(f"sampler {place}", troupe.replace_sampler, place)
        self._asked("Start", [(f"sampler {place}", troupe.samplers[place].open.remote())])
        self._weight_transfer().revive(place)

    def _see_to_environments(self, checkpoint: Callable[[], None]) -> int:
        """Puts others in place of the environment actors that are gone; how many those were."""
        troupe, gone = self._troupe(), 0
        for place, (name, reference) in enumerate(of_environments(troupe)):
            try:
                self._results("Rollout", [reference], [name], checkpoint)
            except ActorDied as death:
                checkpoint()
                gone += 1
                metric = "cluster/replaced_environments"
                self.voice.warn(f"{death.message} Another takes its place; what it was playing is lost.", metric=metric)
                self._count(metric)
                self._hire_again(name, troupe.replace_environment, place)
        return gone

    def _count(self, metric: str) -> None:
        self.metrics[metric] = self.metrics.get(metric, 0.0) + 1

    def _hire_again(self, name: str, replace: Callable[[int], Any], place: int) -> None:
        look = unless_lost(self._troupe().group, self.voice.checkpoint)
        for attempt in range(REPLACEMENTS):
            try:
                self._note_places([(name, replace(place).place.remote())], look)
                return
            except ActorDied:  # sent to its machine again, since Ray had not seen yet that this is gone
                if attempt == REPLACEMENTS - 1:
                    raise

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """In place: entropies, which vLLM does not tell, and log-probabilities, which it computes otherwise, and which
        are of an older policy where rollouts are ahead."""
        if self.config.cluster.sampler == "torch" and not self.config.cluster.overlap:
            return
        self._let_sleep()
        known = [trajectory for trajectory in trajectories if trajectory.response_tokens]
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
        self._compare()
        self._prove([*self.fixed, *self.probe])
        self.metrics["time/sync"] = self.metrics.get("time/sync", 0.0) + time.monotonic() - began

    def _let_sleep(self) -> None:
        """Colocated samplers give their memory to the learners they share devices with."""
        if self.config.cluster.placement == "colocated" and not self.asleep:
            self._of_samplers("Going to sleep", "sleep")
            self.asleep = True

    def _wake(self) -> None:
        if self.asleep:
            self._of_learners("Waking up", "rest")
            self._of_samplers("Waking up", "wake")
            self.asleep = False

    def _compare(self) -> None:
        """Every bit that was sent with every bit that is held, where a sampler has them as they came."""
        sent = self._of_learners("Weight sync", "sent")[0]
        same = [agree(sent, held) for held in self._of_samplers("Weight sync", "held")]
        self.metrics["cluster/compared_samplers"] = float(sum(found is not None for found in same))
        if False in same:
            raise ModelError(
                f"After a weight sync sampler {same.index(False)} does not hold the learner's weights: their checksums "
                "differ.",
                remedy=OTHER_WAY,
            )

    def _prove(self, probe: list[list[int]]) -> None:
        wanted = self._of_learners("Weight sync", "probe", probe)[0]
        gap = max(
            abs(theirs - ours)
            for found in self._of_samplers("Weight sync", "score", probe)
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
                remedy=OTHER_WAY,
            )

    def _synced(self, asked: Sequence[Asked]) -> list[Any]:
        return self._asked("Weight sync", asked)

    def save(self, directory: Path, progress: Progress) -> Path:
        return Path(self._of_learners("Checkpoint", "save", str(directory), progress)[0])

    def take_metrics(self) -> Metrics:
        self._note_gpus("learner", self._troupe().learners)
        taken, self.metrics = self.metrics, {}
        return taken

    def close(self) -> None:
        """Ends the actors and tells what Ray says of that; a warning where it is no proof. Who still waits for one
        leaves."""
        self.closed = True
        if self.troupe is not None:
            freed = self.troupe.dismiss()
            self.voice.freed(freed)
            if not freed.proven:
                self.voice.warn(freed.in_words(), metric="cluster/left_actors", value=float(len(freed.left)))
        disconnect()

    def _troupe(self) -> Troupe:
        if self.troupe is None:
            raise ValueError("The backend is not open.")
        return self.troupe

    def _weight_transfer(self) -> WeightTransfer:
        if self.transfer is None:
            raise ValueError("The backend is not open.")
        return self.transfer

    def _note_places(self, asked: Sequence[Asked], checkpoint: Callable[[], None] | None = None) -> None:
        self._troupe().note(self._asked("Start", asked, checkpoint))

    def _asked(self, what: str, asked: Sequence[Asked], checkpoint: Callable[[], None] | None = None) -> list[Any]:
        return self._results(what, [reference for _, reference in asked], [name for name, _ in asked], checkpoint)

    def _note_gpus(self, role: str, actors: list[Any]) -> None:
        """Asked between calls, when they are idle: who is in the middle of one would keep the run waiting."""
        if self.device != "cuda":
            return
        names = [f"{role} {place}" for place in range(len(actors))]
        with suppress(ActorDied):  # the next call that needs it tells
            self.metrics |= by_role(role, self._results("GPU use", [actor.gpus.remote() for actor in actors], names))

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
        usual = checkpoint or (self.voice.checkpoint if what in LEAVABLE else never)

        def leave_if_closed() -> None:
            if self.closed:
                raise ClusterFault(f"{what} was broken off: the run has given back what it held.")
            usual()

        try:
            return results(
                references,
                what=what,
                minutes=self.config.cluster.phase_minutes,
                checkpoint=leave_if_closed,
                names=names,
            )
        except PhaseHangs as hang:
            known = evidence(self._troupe().places, self.directory)
            self.voice.warn(f"{hang.message} {known}", metric=TIMES.get(what, "time/step"), value=hang.seconds)
            raise


def fixed_probe(context: ContextManager, limit: int) -> list[list[int]]:
    """Tokens to compare by when nothing was played yet, within a context of `limit`."""
    return [list(context.encode(PROBE))[: min(FIXED_TOKENS, limit - 1)]]
