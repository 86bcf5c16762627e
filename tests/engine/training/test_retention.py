"""Which checkpoints stay: the newest, the last before each sign of trouble, and the best; in real runs as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.training.retention import best_of, kept
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.training.test_requested_evaluations import leave
from tests.engine.training.test_runs import events_of, run_config

STEPS = (2, 4, 6, 8, 10, 12)


@pytest.mark.parametrize(
    ("before", "held_out", "expected"),
    [
        ((), {}, {10, 12}),
        ((7,), {}, {6, 10, 12}),
        ((7, 8, 3, 1), {}, {2, 6, 10, 12}),  # none is before step 1
        ((), {4: 0.5, 8: 0.3}, {4, 10, 12}),
        ((), {4: 0.5, 6: 0.5}, {6, 10, 12}),  # the newest of equals
        ((), {5: 0.9}, {10, 12}),  # evaluated, but never saved
    ],
)
def test_the_newest_the_ones_before_a_sign_and_the_best_are_kept(
    before: tuple[int, ...], held_out: dict[int, float], expected: set[int]
) -> None:
    assert kept(STEPS, newest=2, before=before, held_out=held_out) == expected


def test_there_is_no_best_before_an_evaluation() -> None:
    assert best_of(STEPS, {}) is None


def test_a_run_keeps_the_checkpoint_before_an_open_sign_and_reports_what_is_left(tmp_path: Path) -> None:
    # learning from step 1 to 6 the rate is 1, 0.8, 0.6, 0.4, 0.2, 0: below 0.5 from step 4 on
    low = {"name": "low", "kind": "below", "metric": "optim/learning_rate", "limit": 0.0005, "steps": 20}
    optimizer = {"learning_rate": 0.001, "schedule": {"type": "linear"}, "warmup_steps": 1}
    config = run_config(
        save_small_model(tmp_path / "model"),
        steps=6,
        optimizer=optimizer,
        detectors={"rules": [low]},
        checkpoint={"every": 1, "keep": 1},
        evaluation={"every": 0, "at_start": False, "final_episodes": 4},
    )
    leave(tmp_path / "run", step=0)
    assert train(config, tmp_path / "run") == EXIT_DONE
    requested = [event for event in events_of(tmp_path / "run") if event.kind == "checkpoint_evaluated"]
    assert [event.step for event in requested] == [0]
    saved = [event for event in events_of(tmp_path / "run") if event.kind == "checkpoint_saved"]
    assert [(event.step, event.kept) for event in saved] == [
        (1, [1]),
        (2, [2]),
        (3, [3]),
        (4, [3, 4]),
        (5, [3, 5]),
        (6, [3, 6]),
    ]
    assert [event.best for event in saved] == [None] * 5 + [6]
    assert sorted(path.name for path in (tmp_path / "run/checkpoints").glob("step_*")) == ["step_3", "step_6"]


def test_a_run_keeps_its_best_checkpoint(tmp_path: Path) -> None:
    evaluation = {"every": 1, "at_start": False, "episodes": 4, "final_episodes": 4}
    config = run_config(
        save_small_model(tmp_path / "model"),
        checkpoint={"every": 1, "keep": 1},
        evaluation=evaluation,
        detectors={"rules": []},
    )
    assert train(config, tmp_path / "run") == EXIT_DONE
    events = events_of(tmp_path / "run")
    success = {event.step: event.success for event in events if event.kind == "evaluation_completed"}
    best = max(success, key=lambda step: (success[step], step))
    last = [event for event in events if event.kind == "checkpoint_saved"][-1]
    assert (last.best, set(last.kept)) == (best, {best, 4})
