"""A run records its verdict as it goes: the one that its recording gives, resumed or not."""

from __future__ import annotations

from pathlib import Path

from engine.config import build_config
from engine.events import StepCompleted
from engine.training.run_directory import EventLog, RunDirectory
from engine.training.run_verdict import RunVerdict
from engine.training.session import EXIT_DONE, train
from engine.verdict.assessor import Settings
from engine.verdict.recorded import assessor_after, recorded_verdict
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config

QUIET = {"every": 1, "at_start": True, "episodes": 2, "final_episodes": 2}


def test_the_recorded_verdict_is_that_of_the_recording(tmp_path: Path) -> None:
    model = save_small_model(tmp_path / "model")
    directory = tmp_path / "run"
    for steps in (2, 3):  # the second attempt resumes from the first one's last checkpoint
        config = run_config(model, steps=steps, evaluation=QUIET)
        assert train(config, directory, resume=True) == EXIT_DONE
        recorded = recorded_verdict(directory / "events.jsonl")
        assert recorded is not None
        assert recorded == assessor_after(directory / "events.jsonl", Settings.of(config)).verdict()
        assert (recorded.step, recorded.since, recorded.label) == (steps, 1, "broken_format")  # an untrained model
        assert "eval/success" in [row.metric for row in recorded.evidence]
    kinds = [event.kind for event in events_of(directory)]
    # after a step comes its verdict, after an evaluation another one, and the end is last
    assert kinds.index("verdict_updated") > kinds.index("step_completed")
    assert kinds[-1] == "run_finished"


def test_a_verdict_is_reported_when_it_changes_and_not_again(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    log = EventLog(directory.events, attempt=1, epoch=0)
    verdict = RunVerdict(build_config({}), directory, log)
    verdict.report()  # before the first step there is none
    assert not verdicts(tmp_path)
    log.emit(StepCompleted(step=1, metrics={"rollout/success": 0.0}, tokens=10, seconds=1.0))
    for _ in range(2):
        verdict.report()
        assert verdicts(tmp_path) == [1]
    log.emit(StepCompleted(step=2, metrics={"rollout/success": 0.0}, tokens=20, seconds=2.0))
    verdict.report()
    assert verdicts(tmp_path) == [1, 2]


def verdicts(directory: Path) -> list[int]:
    """The steps of recorded verdicts."""
    return [event.step for event in events_of(directory) if event.kind == "verdict_updated"]
