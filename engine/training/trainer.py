"""The StarPO loop: roll out whole trajectories, filter groups, assign credit, update, measure, record.

Read `Trainer.run` and `Trainer._train_step` from top to bottom to know the algorithm. What each part does is in its
own file; its progress is visible as events in a run directory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from engine.config import RunConfig
from engine.config.live import differences, with_changes
from engine.diagnostics.alerts import Detection
from engine.diagnostics.detectors import build_detectors
from engine.diagnostics.held_out import held_out_metrics
from engine.diagnostics.mutual_information import SmoothedZScore
from engine.errors import ConfigError, EnvironmentFault, RetryableFault
from engine.events import (
    Change,
    CheckpointReason,
    Phase,
    PhaseChanged,
    RunFinished,
    SettingsChanged,
    StepCompleted,
)
from engine.rollout.batching import Batch, collate, trainable
from engine.rollout.env_state_manager import EnvStateManager
from engine.rollout.types import Trajectory
from engine.training.backend import Backend
from engine.training.checkpoint_state import Progress
from engine.training.control import Control, Interrupted, RequestedSettings, StopRequested
from engine.training.credit import credited_tokens, with_normalized_scores
from engine.training.evaluator import evaluate, evaluated_weights
from engine.training.group_filter import keep_groups, kept_by_environment
from engine.training.group_record import group_record
from engine.training.machine_use import MachineUse
from engine.training.recorder import Recorder
from engine.training.requested_evaluations import take
from engine.training.retention import success_of
from engine.training.rollout_metrics import rollout_metrics
from engine.training.rollouts import OneStepAhead, Rollouts, Synchronous
from engine.training.run_directory import EventLog, RunDirectory
from engine.training.run_verdict import RunVerdict
from engine.training.saver import CheckpointSaver
from engine.training.step_diagnostics import collapse_metrics, template_metrics
from engine.training.step_rollout import StepRollout, roll_out_step

Metrics = dict[str, float]
PHASE = "starboard/"  # prefix of a phase's name in traces of torch's profiler


class Trainer:
    """One attempt at a run: from `progress.step` to `config.steps`.

    `initial` is the configuration the run started with; the changed settings in `progress` are applied to it.
    """

    def __init__(
        self,
        initial: RunConfig,
        directory: RunDirectory,
        events: EventLog,
        control: Control,
        backend: Backend,
        progress: Progress,
    ) -> None:
        config = with_changes(initial, progress.settings.get("changes", {}))
        self.initial, self.config = initial, config
        self.directory, self.events, self.control = directory, events, control
        self.backend, self.progress = backend, progress
        self.phase = "loading"
        self.between: Metrics = {}  # seconds spent since the last step; reported with the next one
        self.manager = EnvStateManager.of(config)
        self.max_turns = {environment.tag: environment.max_turns for environment in config.environments}
        self.detectors = build_detectors(config.stop, config.detectors)
        self.detectors.load_state_dict(progress.detectors)
        self.smoothed = SmoothedZScore(progress.stds)
        self.verdict = RunVerdict(initial, directory, events)
        self.recorder = Recorder(config, directory, self._piece, attempt=events.attempt)
        self.saver = CheckpointSaver(backend, directory, events, progress, newest=config.checkpoint.keep)
        self.machine = MachineUse(gpu=backend.device == "cuda" and config.backend == "local")
        self.rollouts: Rollouts = Synchronous(backend, self._roll_out)
        if config.backend == "ray" and config.cluster.overlap:
            self.rollouts = OneStepAhead(backend, self._roll_out, last=config.steps)

    def run(self) -> None:
        """Trains to the last step, unless it is stopped, a detector ends the run, or its environments fail. Always
        writes a checkpoint of the steps made."""
        try:
            self.verdict.report()
            self._evaluate_if_due()  # an earlier attempt may have been interrupted in it
            while not self._is_over():
                self._handle_requests()
                self._train_step(self.progress.step + 1)
                self._evaluate_if_due()
                self._save_if_due()
            self._finish(self._take_ending())
        except Interrupted:
            self._save("final")
            raise
        except EnvironmentFault:  # never in the middle of an update
            if self.progress.step:
                self._save("final")
            raise
        except StopRequested:
            self._finish(RunFinished(step=self.progress.step, outcome="stopped", reason="Stopped on request."))
        except RetryableFault:
            raise  # what would write is gone, or hangs
        except (Exception, SystemExit) as error:  # an environment may call sys.exit
            self.saver.finish_despite(error)
            raise
        finally:
            self.rollouts.close()

    def _is_over(self) -> bool:
        return self.progress.step >= self.config.steps or bool(self.progress.ending)

    def _take_ending(self) -> RunFinished:
        """The last event. Once taken it is no longer saved, so that a later attempt continues."""
        step = self.progress.step
        if not self.progress.ending:
            return RunFinished(step=step, outcome="completed", reason=f"All {self.config.steps} steps are done.")
        ending, self.progress.ending = self.progress.ending, {}
        self.saver.save_again()
        return RunFinished(step=step, **ending)

    def _train_step(self, step: int) -> None:
        """One step of StarPO, then the detectors."""
        started = time.monotonic()
        times, self.between = self.between, {}

        # 1. roll out: groups of whole multi-turn trajectories from the current policy
        with self._phase("rollout", times, step):
            rollout = self.rollouts.take(step)
        trajectories, sampled = rollout.trajectories, rollout.sampled
        self.progress.problems.add(trajectory.problem for trajectory in trajectories)
        self.backend.score(trajectories)
        metrics = rollout_metrics(trajectories, max_turns=self.max_turns) | rollout.metrics

        # 2. diagnose, on everything that was sampled
        if self.config.diagnostics.every and (step - 1) % self.config.diagnostics.every == 0:
            with self._phase("diagnostics", times, step):
                metrics |= self._diagnose(trajectories, step)

        # 3. filter: keep the groups whose returns vary enough to learn from
        usable = trainable(trajectories)
        sampled_batch = collate([trajectories[index] for index in usable], baselines=rollout.baselines)
        batch = with_normalized_scores(self.config.algorithm, sampled_batch)
        kept = keep_groups(self.config.filter, batch)
        names = list(dict.fromkeys(trajectories[index].environment for index in usable))
        metrics |= kept.metrics | kept_by_environment(batch, kept, names)
        rows = torch.isin(batch.groups, torch.tensor(kept.groups, dtype=torch.long)).nonzero().squeeze(-1)

        # 4. gradient norm of each loss term, without stepping
        every = self.config.diagnostics.gradients_every
        if every and (step - 1) % every == 0 and len(batch):
            self._announce("diagnostics", step)
            with self._timed("gradients", times):
                metrics |= self.backend.gradients(batch, scale=kept.scale)

        # 5. credit and update
        advantages: Tensor | None = None
        skipped = "" if len(rows) else _why_skipped(batch)
        with self._phase("update", times, step):
            if len(rows):
                so_far = self.progress.tokens_before + self.progress.tokens + sampled
                advantages, updated = self.backend.update(batch.rows(rows), step=step, scale=kept.scale, tokens=so_far)
                metrics |= updated
                self.rollouts.policy_updated()

        # 6. record
        with self._timed("capture", times):
            credited = credited_tokens(trajectories, [usable[row] for row in rows.tolist()], advantages)
            decided = {index: index in credited for index in usable} if self.config.filter.selects else {}
            recording = self.events.room.write(lambda: self.recorder.training(step, trajectories, credited, decided))
        seconds = time.monotonic() - started
        self.progress.step = step
        self.progress.tokens += sampled
        self.progress.seconds += seconds
        metrics |= self.backend.take_metrics()
        metrics |= {f"time/{name}": value for name, value in times.items()}
        metrics |= self._performance(seconds, times, sampled, int(batch.lengths[rows].sum()))
        self.events.emit(group_record(step, trajectories, kept, self.config.filter))
        self._emit_step(step, metrics, skipped)
        self.recorder.report(recording, self.events)
        self._detect(step, metrics)
        self.verdict.report()

    def _roll_out(self, step: int) -> StepRollout:
        return roll_out_step(self.backend, self.manager, self.config, step, check_cancelled=self._check_cancelled)

    def _check_cancelled(self) -> None:
        self.rollouts.check_cancelled()
        self.control.check_cancelled()

    def _diagnose(self, trajectories: list[Trajectory], step: int) -> Metrics:
        """Empty without thoughts, since there is no reasoning to collapse."""
        if not self.config.rollout.think:
            return {}
        found = collapse_metrics(self.backend, trajectories, self.config, step=step, smoothed=self.smoothed)
        if self.config.diagnostics.template_similarity:
            found |= self.events.room.write(
                lambda: template_metrics(self.directory.templates, trajectories, self.config, step=step)
            )
        return found

    def _detect(self, step: int, metrics: Metrics) -> None:
        """Raises alerts and carries out their actions; a run that has to end is evaluated first."""
        self._apply(step, self.detectors.observe(step, metrics))

    def _apply(self, step: int, detection: Detection) -> None:
        for draft in detection.alerts:
            self.events.emit(draft.event(step))
        self.progress.detectors = self.detectors.state_dict()
        if detection.stop is not None:
            self.progress.ending = {"outcome": detection.ending, "reason": detection.stop, "rule": detection.rule}
            if detection.fork_before is not None:
                self.progress.ending["fork_before"] = self.saver.fork_before = detection.fork_before
        if detection.requests("checkpoint"):
            self._save("alert")
        if detection.requests("pause") and detection.stop is None and step < self.config.steps:
            self.control.request_pause()

    def _evaluate_if_due(self) -> None:
        if self._is_over():
            self._evaluate(self.config.evaluation.final_episodes, final=True)
        elif self.progress.step != self.progress.evaluated and self._is_evaluated(self.progress.step):
            self._evaluate(self.config.evaluation.episodes)
            if self._is_over():  # a rule ended the run on this evaluation
                self._evaluate(self.config.evaluation.final_episodes, final=True)

    def _is_evaluated(self, step: int) -> bool:
        settings = self.config.evaluation
        return settings.at_start if step == 0 else bool(settings.every) and step % settings.every == 0

    def _evaluate(self, episodes: int, *, final: bool = False) -> None:
        step = self.progress.step
        self.rollouts.settle()
        weights = evaluated_weights(self.config, self.backend, self.rollouts.sync)
        with self._phase("evaluation", self.between, step), weights:
            results = [
                evaluate(
                    self.backend,
                    self.manager,
                    environment,
                    self.config,
                    episodes=episodes,
                    seen=self.progress.problems,
                    check_cancelled=self.control.check_cancelled,
                )
                for environment in self.config.environments
            ]
        played = [trajectory for result in results for trajectory in result.trajectories]
        recording = self.events.room.write(lambda: self.recorder.held_out(step, played))
        self.recorder.report(recording, self.events)
        completed = [result.event(step, final=final) for result in results]
        for result, evaluation in zip(results, completed, strict=True):
            self.events.emit(evaluation)
            self.events.emit(result.problems_played(step, final=final))
        self.progress.evaluated = step
        self.progress.held_out[str(step)] = success_of(completed)
        found = self.detectors.observe_evaluation(step, held_out_metrics(completed))
        # once the run is over, alerts can only notify
        notices = [replace(alert, action="notify") for alert in found.alerts]
        self._apply(step, Detection(alerts=notices) if final else found)
        self.verdict.report()

    def _handle_requests(self) -> None:
        """Between steps: applies changed settings, waits while paused, writes requested checkpoints, stops on
        request."""
        self._poll_requests()
        if self.control.paused:
            self._finish_saving()
            self._announce("paused", self.progress.step)
            while self.control.paused:
                self._poll_requests()
                time.sleep(0.1)
            self._poll_requests()

    def _poll_requests(self) -> None:
        for step, results in take(self.directory, self.events, last_step=self.progress.step).items():
            self.progress.held_out.setdefault(str(step), success_of(results))
        self.saver.poll()
        if self.control.take_checkpoint_request():
            self._save("request")
        self.control.poll()
        if self.control.settings.revision > self.progress.settings.get("revision", 0):
            self._change_settings(self.control.settings)

    def _change_settings(self, requested: RequestedSettings) -> None:
        """Applies the changes, or reports why they are refused. A refused revision is reported once."""
        before = self.config
        try:
            after, refused = with_changes(self.initial, requested.changes), ""
        except ConfigError as error:
            after, refused = before, str(error)
        accepted = self.progress.settings.get("changes", {}) if refused else requested.changes
        self.progress.settings = {"revision": requested.revision, "changes": accepted}
        changes = differences(before, after)
        if changes:
            self.backend.set_config(after)
            self.config = after
            self.detectors = self.detectors.with_config(after.detectors)
        if changes or refused:
            self.events.emit(
                SettingsChanged(
                    step=self.progress.step,
                    revision=requested.revision,
                    changes={field: Change(**change) for field, change in changes.items()},
                    refused=refused,
                )
            )

    def _save_if_due(self) -> None:
        every = self.config.checkpoint.every
        if every and self.progress.step % every == 0 and not self.progress.ending:
            self._save("schedule")

    def _save(self, reason: CheckpointReason) -> None:
        if self.saver.is_due():
            with self._phase("checkpoint", self.between, self.progress.step):
                self.saver.save(reason, first_signs=self.detectors.may_begin(self.progress.step))
        elif reason == "final":
            self._finish_saving()

    def _finish_saving(self) -> None:
        """Waits for what is written in the background."""
        if self.saver.is_writing():
            with self._phase("checkpoint", self.between, self.progress.step):
                self.saver.finish()

    def _finish(self, ending: RunFinished) -> None:
        self._save("final")
        self.verdict.end(ending.rule)
        self.events.emit(ending)

    def _emit_step(self, step: int, metrics: Metrics, skipped: str) -> None:
        finite = {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
        self.events.emit(
            StepCompleted(
                step=step,
                metrics=finite,
                tokens=self.progress.tokens,
                seconds=self.progress.seconds,
                skipped=skipped,
            )
        )

    def _performance(self, seconds: float, times: Metrics, sampled: int, trained: int) -> Metrics:
        return {
            "time/step": seconds,
            "perf/sampled_tokens_per_second": sampled / max(times["rollout"], 1e-9),
            "perf/trained_tokens_per_second": trained / max(times["update"], 1e-9),
            **self.machine.measure(),
        }

    def _piece(self, token: int) -> str:
        return self.backend.context.text([token])

    @contextmanager
    def _phase(self, phase: Phase, times: Metrics, step: int) -> Iterator[None]:
        """Announces the phase and measures it."""
        self._announce(phase, step)
        with self._timed(phase, times):
            yield

    @contextmanager
    def _timed(self, name: str, times: Metrics) -> Iterator[None]:
        started, synced = time.monotonic(), self.rollouts.sync.seconds
        with torch.profiler.record_function(PHASE + name):
            yield
        # a weight sync within it is a phase of its own
        times[name] = time.monotonic() - started - (self.rollouts.sync.seconds - synced)

    def _announce(self, phase: Phase, step: int) -> None:
        self.phase = phase
        self.events.emit(PhaseChanged(step=step, phase=phase))


def _why_skipped(batch: Batch) -> str:
    if len(batch):
        return "The filter kept no group: no group's returns differ enough."
    return "No trajectory can be trained on: environments failed, or prompts left no room for a response."
