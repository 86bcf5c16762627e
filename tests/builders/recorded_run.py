"""A run as an engine writes it: events appended to `events.jsonl`, from which the real bridge makes rows and
updates."""

from __future__ import annotations

import math
import random
import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from engine.config import EnvironmentConfig, RunConfig
from engine.events import EVENT
from engine.verdict.assessor import Assessor, Settings
from engine.verdict.recorded import assessor_after
from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run
from webapp.runs.services import move
from webapp.runs.states import RunState
from workers.bridge import Bridge


class RecordedRun:
    """`emit` writes one event, `deliver` turns all written ones into rows. Success rises, as in a run that learns."""

    def __init__(
        self, *, name: str = "calm-otter-12", steps: int = 60, version: EnvironmentVersion | None = None
    ) -> None:
        environment = version.config if version else EnvironmentConfig(tag="Lake").model_dump(mode="json")
        config = RunConfig.model_validate({"environments": [environment], "steps": steps, "preset": "Starter"})
        self.run = Run.objects.create(
            name=name,
            config=config.model_dump(mode="json"),
            preset=config.preset,
            environment_version=version,
            total_steps=steps,
        )
        self.tag = config.environments[0].tag
        self.seq = 0
        self.step = 0
        self.attempt = 1
        self.stream = random.Random(7)
        self.settings = Settings.of(config)
        self.assessor = Assessor(self.settings)
        self.run.directory.mkdir(parents=True)
        self.events = self.run.directory / "events.jsonl"
        self._start()
        self.run.refresh_from_db()
        self.emit("run_started", total_steps=steps, pid=1, device="cpu", model="tiny", parameters=1_900_000)

    def _start(self) -> None:
        """As a worker does, which follows the run for as long as a test may take."""
        held = {"lease_holder": "a worker", "lease_expires": timezone.now() + timedelta(hours=1)}
        Run.objects.filter(pk=self.run.pk).update(attempt=self.attempt, state=RunState.STARTING, **held)

    def emit(self, kind: str, **values: Any) -> None:
        self.seq += 1
        base = {"kind": kind, "seq": self.seq, "time": time.time(), "epoch": 0}
        event = EVENT.validate_python({**base, "attempt": self.attempt, "step": self.step, **values})
        with self.events.open("a") as file:
            file.write(event.model_dump_json() + "\n")
        self.assessor.observe(event)

    def report_verdict(self) -> None:
        if (verdict := self.assessor.verdict()) is not None:
            self.emit("verdict_updated", verdict=verdict)

    def take_steps(self, count: int, *, evaluate_every: int = 10) -> None:
        for _ in range(count):
            self.step += 1
            self.emit("phase_changed", phase="rollout")
            self.emit("step_completed", metrics=self._metrics(), tokens=9000 * self.step, seconds=2.1 * self.step)
            if self.step % evaluate_every == 0:
                self.evaluate()
            self.report_verdict()

    def succeed(self, *shares: float) -> None:
        """A step for each share of successes."""
        for share in shares:
            self.step += 1
            metrics = {**self._metrics(), "rollout/success": share}
            self.emit("step_completed", metrics=metrics, tokens=9000 * self.step, seconds=2.1 * self.step)
            self.report_verdict()

    def finish(self, *, rule: str = "", reason: str = "All steps are done.") -> None:
        """Ends the run as its engine and its supervisor do, and delivers everything."""
        self.assessor.end(rule)
        self.report_verdict()
        self.emit("run_finished", outcome="collapsed" if rule else "completed", reason=reason, rule=rule)
        self.deliver()
        assert move(self.run, RunState.FINISHED, reason=reason)

    def raise_alert(self, message: str) -> None:
        values = {"rule": "entropy_fall", "severity": "warn", "metric": "policy/entropy", "value": 0.4, "baseline": 1.1}
        self.emit("alert_raised", message=message, **values)
        self.report_verdict()

    def resume(self, step: int) -> None:
        """Another attempt, which continues from the checkpoint of `step`."""
        self.attempt, self.step = self.attempt + 1, step
        self._start()
        values = {"total_steps": self.run.total_steps, "pid": 2, "device": "cpu", "model": "tiny"}
        self.emit("run_started", parameters=1_900_000, resumed_from=step, **values)
        self.assessor = assessor_after(self.events, self.settings)
        self.report_verdict()

    def deliver(self) -> None:
        self.run.refresh_from_db()
        Bridge(self.run, self.run.epoch).drain()
        self.run.refresh_from_db()

    def _success(self) -> float:
        return 0.23 + 0.3 * (1 - math.exp(-self.step / 25))

    def evaluate(self) -> None:
        successes = round(256 * self._success())
        share = successes / 256
        self.emit(
            "evaluation_completed", environment=self.tag, episodes=256, successes=successes, success=share,
            low=share - 0.06, high=share + 0.06, mean_return=share, first_seed=1, temperature=1.0, seconds=1.5,
        )  # fmt: skip

    def _metrics(self) -> dict[str, float]:
        noise = self.stream.gauss
        success = max(0.0, self._success() + noise(0, 0.04))
        metrics = {
            "rollout/success": success, "reward/mean": success - 0.02, "reward/std": 0.45,
            "reward/within_group_std": 0.31 + noise(0, 0.02), "rollout/parse_ok_rate": 0.998,
            "rollout/response_tokens": 24 + noise(0, 1),
            "policy/entropy": 1.2 * math.exp(-self.step / 90) + noise(0, 0.02),
            "policy/clip_fraction": 0.02 + abs(noise(0, 0.01)), "policy/kl": 0.004, "policy/loss": noise(0, 0.02),
            "optim/grad_norm": 0.6 + abs(noise(0, 0.3)), "optim/learning_rate": 3e-4, "filter/kept_ratio": 0.62,
            "filter/kept_groups": 10, "time/rollout": 1.2 + abs(noise(0, 0.1)),
            "time/update": 0.7, "time/capture": 0.05,
            "time/step": 2.1, "perf/sampled_tokens_per_second": 4300 + noise(0, 90),
            "system/process_memory_gb": 0.91, "system/host_memory_share": 0.4 + abs(noise(0, 0.01)),
            "system/host_cpu_share": 0.8 + noise(0, 0.02),
        }  # fmt: skip
        if self.step % 5 == 0:
            metrics |= {
                "collapse/mi_ratio": 0.5 + noise(0, 0.02), "collapse/retrieval_above_chance": 0.6 + noise(0, 0.02),
                "collapse/conditional_entropy": 14 + noise(0, 0.5), "time/diagnostics": 0.4,
            }  # fmt: skip
        return metrics
