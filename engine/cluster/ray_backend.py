"""A run on a Ray cluster: samplers, learners and environments are actors. This process drives them and has no model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from torch import Tensor

from engine.cluster.actors import (
    ActorPool,
    Call,
    environment_calls,
    gpu_metrics_by_role,
    learner_calls,
    sampler_calls,
)
from engine.cluster.connection import ClusterFault, connect, disconnect, import_ray, reconnect
from engine.cluster.environment_actors import ActorAssignment, RolloutId
from engine.cluster.forward_tokens import with_tokens
from engine.cluster.hang_report import hang_report
from engine.cluster.learner_room import fitting_cluster_size
from engine.cluster.partitions import join_partitions
from engine.cluster.placement import check_placement, reserve, used_gpus_before
from engine.cluster.remote_write import RemoteWrite
from engine.cluster.reporting import RunReporter
from engine.cluster.resources import required_resources
from engine.cluster.waiting import PHASE_METRICS, ActorDied, PhaseTimeout, results
from engine.cluster.weight_transfer import (
    TRANSFERS,
    WeightTransfer,
    compare_checksums,
    logprob_gap,
    probe_text_ids,
    require_small_gap,
)
from engine.config import RunConfig
from engine.diagnostics.cross_scores import Pairs
from engine.errors import ConfigError
from engine.policies.loading import load_tokenizer
from engine.policies.weight_checksums import bytes_of
from engine.rollout.batching import Batch, collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec, partition_by_group
from engine.rollout.types import Trajectory
from engine.training.backend import Metrics, never_cancelled
from engine.training.background_save import Write
from engine.training.checkpoint_state import Progress
from engine.training.forward_size import ForwardSize

# A run may be cancelled within these; an update, a checkpoint or a weight sync that has started is completed.
CANCELLABLE_PHASES = frozenset({"Start", "Rollout", "Scoring", "Diagnostics"})
REPLACEMENTS = 3  # times that the lost part of one rollout is played again
PROBE_TOKENS = 64
PROBE_NATS = {"float32": 0.01, "bfloat16": 0.5}  # the largest difference between sampler and learner on a token


class RayBackend:
    def __init__(self, config: RunConfig, directory: Path, reporter: RunReporter) -> None:
        self.config, self.directory, self.reporter = config, directory, reporter
        tokenizer = load_tokenizer(config.model.versioned_path, chat_template=config.model.chat_template)
        self.context = ContextManager(tokenizer, think=config.rollout.think)
        self.pool: ActorPool | None = None
        self.metrics: Metrics = {}
        self.transfer: WeightTransfer | None = None
        self.probe_text = probe_text_ids(self.context, config.rollout.max_context_tokens)
        self.probe: list[list[int]] = []
        self.forward_size: ForwardSize | None = None
        self.asleep = False
        self.rollouts = count()
        self.closed = False

    @classmethod
    def open(
        cls, config: RunConfig, found: Path | None, directory: Path, reporter: RunReporter
    ) -> tuple[RayBackend, Progress]:
        """Connects, waits for resources, and loads the model, from the checkpoint `found` if there is one."""
        backend = cls(config, directory, reporter)
        try:
            return backend, backend._open(found)
        except BaseException:
            backend.close()
            raise

    def _open(self, found: Path | None) -> Progress:
        cluster = self.config.cluster
        again = found is not None or int(os.environ.get("STARBOARD_ATTEMPT", "1")) > 1
        self.reporter.status("connecting to Ray")
        where = self._connect(again=again)
        gpus = cluster.device == "gpu" or (cluster.device == "auto" and self._has_gpus(again=again))
        resources = required_resources(cluster, gpus=gpus)
        transfer = self._weight_transfer_method(gpus)
        self.reporter.status(f"waiting for {where}")
        group = reserve(resources, minutes=cluster.wait_minutes, reporter=self.reporter)
        pool = self.pool = ActorPool(
            config=self.config, resources=resources, group=group, stacks=self.directory / "stacks", transfer=transfer
        )
        self.transfer = TRANSFERS[transfer](pool, self._wait_for_sync)
        self.reporter.status("starting samplers and learners")
        pool.start()
        self._record_locations(
            [*learner_calls(pool, "location"), *sampler_calls(pool, "location"), *environment_calls(pool)]
        )
        address = self._call_learners("Start", "rendezvous_address")[0]
        free, samplers = self._call_learners("Start", "free"), self._call_samplers("Start", "location")
        size = self.forward_size = fitting_cluster_size(self.config, found, free, [one.node for one in samplers])
        if size is not None:
            self.config = with_tokens(self.config, size.tokens)
        tokens = size.tokens if size is not None else 0
        opening = learner_calls(pool, "open", address, str(found or ""), cluster.phase_minutes, tokens)
        opened = self._wait("Start", [*opening, *sampler_calls(pool, "open")])[0]
        for note in opened["notes"]:
            self.reporter.status(note)
        self.device, self.parameters = opened["device"], opened["parameters"]
        self.trainable_parameters = opened["trainable_parameters"]
        self.sync_weights()
        progress: Progress = opened["progress"]
        return progress

    def _connect(self, *, again: bool) -> str:
        cores = required_resources(self.config.cluster, gpus=False).cpus
        namespace = f"starboard-{os.getpid()}-{time.time_ns()}"
        if not again:
            return connect(cores, namespace=namespace)
        minutes = self.config.cluster.wait_minutes
        return reconnect(cores, namespace=namespace, minutes=minutes, reporter=self.reporter)

    def _has_gpus(self, *, again: bool) -> bool:
        """The GPU machines of a remote cluster may come back later than its head."""
        late = again and bool(os.environ.get("RAY_ADDRESS")) and used_gpus_before(self.directory / "events.jsonl")
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
        check_cancelled: Callable[[], None] = never_cancelled,
    ) -> tuple[list[Trajectory], int]:
        """Each sampler plays whole groups. One that dies is replaced, and its partition is played again from the start.
        When an environment actor dies, the trajectories it was playing are lost; a partition that lost all of them is
        played again too."""
        pool = self._pool()
        self._wake()
        partitions = partition_by_group(specs, len(pool.samplers))
        found: list[Any] = [None] * len(partitions)
        waiting = list(range(len(partitions)))
        self._replace_dead_environments(check_cancelled)
        lost = 0
        for attempt in range(1 + REPLACEMENTS):
            references = [
                pool.samplers[index].play.remote(
                    partitions[index],
                    temperature=temperature,
                    seeds=[*seeds, index] if index else seeds,
                    assignment=self._assign_environments(index, partitions),
                )
                for index in waiting
            ]
            died = []
            for index, reference in zip(waiting, references, strict=True):
                try:
                    found[index] = self._results("Rollout", [reference], [f"sampler {index}"], check_cancelled)[0]
                except ActorDied as death:
                    check_cancelled()  # at the end of a run it was ended with the other actors
                    died.append(index)
                    self._replace_sampler(index, death)
            replaced = self._replace_dead_environments(check_cancelled)
            lost += replaced
            emptied = [index for index in waiting if replaced and index not in died and found[index][2] is not None]
            if not died and (not emptied or attempt == REPLACEMENTS):
                self._record_gpu_metrics("sampler", pool.samplers)
                trajectories, sampled = join_partitions(found, lost=lost)
                self.probe = self.probe or [one.ids[:PROBE_TOKENS] for one in trajectories[:2] if len(one.ids) > 1]
                return trajectories, sampled
            waiting = [*died, *emptied]
        raise ClusterFault(
            f"Samplers died {REPLACEMENTS + 1} times in a row in one rollout.",
            remedy="Check the memory of their machines; lower cluster.memory_share or rollout.groups.",
        )

    def _assign_environments(self, index: int, partitions: list[list[EpisodeSpec]]) -> ActorAssignment | None:
        """Distributes trajectories evenly over the environment actors, whichever sampler they belong to."""
        actors, rollout = self._pool().environments, RolloutId(sampler=index, number=next(self.rollouts))
        first = sum(map(len, partitions[:index]))
        return ActorAssignment(actors=actors, rollout=rollout, first=first) if actors else None

    def _replace_sampler(self, index: int, death: ActorDied) -> None:
        pool = self._pool()
        self.reporter.warn(f"{death.message} A new sampler replaces it and plays its trajectories again.")
        self._increment("cluster/replaced_samplers")
        self._create_again(f"sampler {index}", pool.replace_sampler, index)
        self._wait("Start", [(f"sampler {index}", pool.samplers[index].open.remote())])
        self._weight_transfer().restore(index)

    def _replace_dead_environments(self, check_cancelled: Callable[[], None]) -> int:
        """Replaces the environment actors that died; returns how many."""
        pool, replaced = self._pool(), 0
        for index, (name, reference) in enumerate(environment_calls(pool)):
            try:
                self._results("Rollout", [reference], [name], check_cancelled)
            except ActorDied as death:
                check_cancelled()
                replaced += 1
                metric = "cluster/replaced_environments"
                message = f"{death.message} A new one replaces it; the trajectories it was playing are lost."
                self.reporter.warn(message, metric=metric)
                self._increment(metric)
                self._create_again(name, pool.replace_environment, index)
        return replaced

    def _increment(self, metric: str) -> None:
        self.metrics[metric] = self.metrics.get(metric, 0.0) + 1

    def _create_again(self, name: str, replace: Callable[[int], Any], index: int) -> None:
        check = check_placement(self._pool().group, self.reporter.check_cancelled)
        for attempt in range(REPLACEMENTS):
            try:
                self._record_locations([(name, replace(index).location.remote())], check)
                return
            except ActorDied:  # placed on its lost machine again, since Ray had not noticed the loss yet
                if attempt == REPLACEMENTS - 1:
                    raise

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """Sets, in place, entropies, which vLLM does not report, and log-probabilities, which it computes differently,
        and which are of an older policy where rollouts run ahead."""
        if self.config.cluster.sampler == "torch" and not self.config.cluster.overlap:
            return
        self._put_to_sleep()
        scored = [trajectory for trajectory in trajectories if trajectory.response_tokens]
        if not scored:
            return
        started = time.monotonic()
        logprobs, entropies = self._call_learners("Scoring", "score", collate(scored))[0]
        for row, trajectory in enumerate(scored):
            length = len(trajectory.ids)
            trajectory.learner_logprobs = logprobs[row, :length].tolist()
            trajectory.entropies = entropies[row, :length].tolist()
            trajectory.knows_entropies = True
        self.metrics["time/score"] = time.monotonic() - started

    def cross_scores(self, pairs: Pairs) -> Tensor:
        found: Tensor = self._call_learners("Diagnostics", "cross_scores", pairs)[0]
        return found

    def gradients(self, batch: Batch, *, scale: float = 1.0) -> Metrics:
        found: Metrics = self._call_learners("Diagnostics", "gradients", batch, scale=scale)[0]
        return found

    def update(self, batch: Batch, *, step: int, scale: float, tokens: int | None = None) -> tuple[Tensor, Metrics]:
        self._put_to_sleep()
        advantages, metrics = self._call_learners("Update", "update", batch, step=step, scale=scale, tokens=tokens)[0]
        return advantages, metrics

    def swap_weights(self) -> None:
        self._call_learners("Moving average", "swap_weights")

    def set_config(self, config: RunConfig) -> None:
        self.config = config
        self._call_learners("Settings", "set_config", config.model_dump_json())

    def warm_start(self, checkpoint: Path) -> None:
        self._call_learners("Start", "warm_start", str(checkpoint))

    def sync_weights(self) -> None:
        """Sends the learner's weights to the samplers, not through this process, and compares both ends."""
        started = time.monotonic()
        self._wake()
        self._weight_transfer().send()
        self._compare_checksums()
        self._compare_logprobs([*self.probe_text, *self.probe])
        self.metrics["time/sync"] = self.metrics.get("time/sync", 0.0) + time.monotonic() - started

    def _put_to_sleep(self) -> None:
        """Colocated samplers give their memory to the learners they share devices with."""
        if self.config.cluster.placement == "colocated" and not self.asleep:
            self._call_samplers("Going to sleep", "sleep")
            self.asleep = True

    def _wake(self) -> None:
        if self.asleep:
            self._call_learners("Waking up", "free_cached_memory")
            self._call_samplers("Waking up", "wake")
            self.asleep = False

    def _compare_checksums(self) -> None:
        sent = self._call_learners("Weight sync", "sent_checksums")[0]
        compared = compare_checksums(sent, self._call_samplers("Weight sync", "checksums"))
        self.metrics["cluster/compared_samplers"] = float(compared)
        self.metrics["cluster/sync_gb"] = bytes_of(sent) / 1e9

    def _compare_logprobs(self, probe: list[list[int]]) -> None:
        learner = self._call_learners("Weight sync", "probe_logprobs", probe)[0]
        gap = logprob_gap(learner, self._call_samplers("Weight sync", "score", probe))
        self.metrics["cluster/probe_gap"] = gap
        half = self.config.optimizer.precision == "bfloat16" or self.device == "cuda"
        require_small_gap(gap, PROBE_NATS["bfloat16" if half else "float32"])

    def save(self, directory: Path, progress: Progress) -> Path:
        return Path(self._call_learners("Checkpoint", "save", str(directory), progress)[0])

    def start_save(self, directory: Path, progress: Progress) -> Write | None:
        call = partial(self._call_learners, "Checkpoint")
        return RemoteWrite(call) if call("start_save", str(directory), progress)[0] else None

    def take_metrics(self) -> Metrics:
        self._record_gpu_metrics("learner", self._pool().learners)
        taken, self.metrics = self.metrics, {}
        return taken

    def close(self) -> None:
        """Ends the actors and reports what Ray shows of them, with a warning unless it confirms the release. Calls that
        are still waiting for an actor are cancelled."""
        self.closed = True
        if self.pool is not None:
            report = self.pool.release()
            self.reporter.released(report)
            if not report.confirmed:
                self.reporter.warn(report.describe(), metric="cluster/left_actors", value=float(len(report.left)))
        disconnect()

    def _pool(self) -> ActorPool:
        if self.pool is None:
            raise ValueError("The backend is not open.")
        return self.pool

    def _weight_transfer(self) -> WeightTransfer:
        if self.transfer is None:
            raise ValueError("The backend is not open.")
        return self.transfer

    def _record_locations(self, calls: Sequence[Call], check_cancelled: Callable[[], None] | None = None) -> None:
        self._pool().locations += self._wait("Start", calls, check_cancelled)

    def _record_gpu_metrics(self, role: str, actors: list[Any]) -> None:
        """Between other calls, when the actors are idle: a busy one would delay the run."""
        if self.device != "cuda":
            return
        names = [f"{role} {index}" for index in range(len(actors))]
        with suppress(ActorDied):  # the next call to it raises
            used = self._results("GPU use", [actor.gpu_metrics.remote() for actor in actors], names)
            self.metrics |= gpu_metrics_by_role(role, used)

    def _call_samplers(self, phase: str, method: str, *arguments: Any) -> list[Any]:
        return self._wait(phase, sampler_calls(self._pool(), method, *arguments))

    def _call_learners(self, phase: str, method: str, *arguments: Any, **options: Any) -> list[Any]:
        """The same call to all learners; a batch is stored once for all."""
        ray = import_ray()
        shared = [ray.put(one) if isinstance(one, Batch) else one for one in arguments]
        return self._wait(phase, learner_calls(self._pool(), method, *shared, **options))

    def _wait_for_sync(self, calls: Sequence[Call]) -> list[Any]:
        return self._wait("Weight sync", calls)

    def _wait(self, phase: str, calls: Sequence[Call], check_cancelled: Callable[[], None] | None = None) -> list[Any]:
        return self._results(phase, [reference for _, reference in calls], [name for name, _ in calls], check_cancelled)

    def _results(
        self, phase: str, references: list[Any], names: list[str], check_cancelled: Callable[[], None] | None = None
    ) -> list[Any]:
        default = self.reporter.check_cancelled if phase in CANCELLABLE_PHASES else never_cancelled

        def check() -> None:
            if self.closed:
                raise ClusterFault(f"The phase {phase.lower()} was cancelled: the run has released its actors.")
            (check_cancelled or default)()

        try:
            return results(
                references,
                phase=phase,
                minutes=self.config.cluster.phase_minutes,
                check_cancelled=check,
                names=names,
            )
        except PhaseTimeout as timeout:
            report = hang_report(self._pool().locations, self.directory)
            metric = PHASE_METRICS.get(phase, "time/step")
            self.reporter.warn(f"{timeout.message} {report}", metric=metric, value=timeout.seconds)
            raise
