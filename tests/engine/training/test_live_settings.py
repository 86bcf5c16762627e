"""Settings that are changed while a run goes on: from which step, what the record says, and what a resume keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.config.live import LIVE_FIELDS, differences, value_of, with_changes
from engine.errors import ConfigError
from engine.events import Event
from engine.rollout.trajectory_files import read_records
from engine.training.control import Control
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of

QUIET = {"every": 0, "at_start": False, "final_episodes": 4}
RULE = {"name": "always", "kind": "above", "metric": "rollout/turns", "limit": 0.0, "steps": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def asking(
    directory: Path, *, after: int, revision: int = 1, request: str = "run", **changes: Any
) -> Callable[..., None]:
    """A listener that asks for `changes`, with `__` for the dot, as soon as step `after` is done."""
    settings = {"revision": revision, "changes": {name.replace("__", "."): value for name, value in changes.items()}}

    def hear(event: Event) -> None:
        if event.kind == "step_completed" and event.step == after:
            (directory / "control.json").write_text(json.dumps({"request": request, "settings": settings}))

    return hear


def test_a_learning_rate_holds_from_the_step_after_it_was_asked_for(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET, optimizer={"learning_rate": 0.001})
    hear = asking(tmp_path, after=2, optimizer__learning_rate=0.0005)
    assert train(config, tmp_path, sinks=[hear]) == EXIT_DONE
    rates = [metrics["optim/learning_rate"] for metrics in steps_of(tmp_path).values()]
    assert rates == [0.001, 0.001, 0.0005, 0.0005]
    [recorded] = [event for event in events_of(tmp_path) if event.kind == "settings_changed"]
    assert (recorded.step, recorded.revision, recorded.refused) == (2, 1, "")
    assert {name: (one.old, one.new) for name, one in recorded.changes.items()} == {
        "optimizer.learning_rate": (0.001, 0.0005)
    }
    assert json.loads((tmp_path / "config.json").read_text())["optimizer"]["learning_rate"] == 0.001


def test_a_filter_holds_from_the_next_step(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET)
    hear = asking(tmp_path, after=3, filter={"type": "top_k_absolute", "value": 1})
    train(config, tmp_path, sinks=[hear])
    kept = [metrics["filter/kept_groups"] for metrics in steps_of(tmp_path).values()]
    assert kept[:3] == [4.0, 4.0, 4.0]
    assert kept[3] <= 1.0  # none where no group differs
    third, fourth = (
        [record["kept"] for _, _, record in read_records(tmp_path / f"trajectories/train/step_{step}.jsonl.zst")]
        for step in (3, 4)
    )
    assert set(third) == {None}  # without a filter nothing is kept or dropped
    assert sum(fourth) == 2 * kept[3]  # groups of two


def test_a_resumed_run_keeps_what_its_checkpoint_was_made_under(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET, checkpoint={"every": 1})
    hear = asking(tmp_path, after=1, optimizer__learning_rate=0.0005)
    train(config.model_copy(update={"steps": 2}), tmp_path, sinks=[hear])
    (tmp_path / "control.json").unlink()
    train(config, tmp_path, resume=True)
    rates = [metrics["optim/learning_rate"] for metrics in steps_of(tmp_path).values()]
    assert rates == [2e-4, 0.0005, 0.0005, 0.0005]
    assert [event.kind for event in events_of(tmp_path)].count("settings_changed") == 1


def test_a_resumed_run_takes_up_what_was_asked_for_after_its_checkpoint(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET, checkpoint={"every": 0})
    train(config.model_copy(update={"steps": 2}), tmp_path)
    settings = {"revision": 1, "changes": {"loss.entropy_coefficient": 0.5}}
    (tmp_path / "control.json").write_text(json.dumps({"request": "run", "settings": settings}))
    train(config, tmp_path, resume=True)
    [recorded] = [event for event in events_of(tmp_path) if event.kind == "settings_changed"]
    assert (recorded.step, recorded.attempt) == (2, 1)


def test_a_setting_that_is_no_longer_asked_for_is_again_what_the_run_began_with(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET)
    first = asking(tmp_path, after=1, optimizer__learning_rate=0.0005)
    second = asking(tmp_path, after=2, revision=2, loss__entropy_coefficient=0.5)
    assert train(config, tmp_path, sinks=[first, second]) == EXIT_DONE
    rates = [metrics["optim/learning_rate"] for metrics in steps_of(tmp_path).values()]
    assert rates == [2e-4, 0.0005, 2e-4, 2e-4]  # as in a run that is resumed in between


def test_what_cannot_be_is_refused_in_the_record_once_and_changes_nothing(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET)
    hear = asking(tmp_path, after=1, optimizer__learning_rate=-1, loss__entropy_coefficient=0.5)
    assert train(config, tmp_path, sinks=[hear]) == EXIT_DONE
    [recorded] = [event for event in events_of(tmp_path) if event.kind == "settings_changed"]
    assert recorded.changes == {}
    assert "optimizer.learning_rate" in recorded.refused
    assert {metrics["optim/learning_rate"] for metrics in steps_of(tmp_path).values()} == {2e-4}


def test_rules_that_are_changed_watch_from_the_next_step_and_may_pause(model: Path, tmp_path: Path) -> None:
    config = run_config(model, evaluation=QUIET, detectors={"rules": []})
    hear = asking(tmp_path, after=2, detectors__rules=[RULE])
    train(config, tmp_path, sinks=[hear])
    assert [(event.step, event.rule) for event in events_of(tmp_path) if event.kind == "alert_raised"] == [
        (3, "always")
    ]


def test_a_pause_by_a_rule_keeps_the_settings_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    settings = {"revision": 4, "changes": {"optimizer.learning_rate": 1e-5}}
    path.write_text(json.dumps({"request": "run", "checkpoint": 2, "settings": settings}))
    Control(path, epoch=0).request_pause()
    assert json.loads(path.read_text()) == {"request": "pause", "checkpoint": 2, "epoch": 0, "settings": settings}


@pytest.mark.parametrize("settings", [None, [], {"revision": 1}, {"revision": "x", "changes": {}}, {"changes": {}}])
def test_settings_of_another_form_are_no_wish(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "control.json").write_text(json.dumps({"request": "run", "settings": settings}))
    control = Control(tmp_path / "control.json", epoch=0)
    control.poll()
    assert control.settings.revision == 0


def test_every_live_field_is_one_of_the_configuration(model: Path) -> None:
    config = run_config(model)
    assert with_changes(config, {field: value_of(config, field) for field in LIVE_FIELDS}) == config
    assert differences(config, config) == {}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"steps": 10}, "cannot be changed during a run"),
        ({"optimizer.learning_rate": 0}, "greater than 0"),
        ({"filter": {"type": "top_p", "value": 3}}, "filter.value: .*1 or less"),
        ({"loss.kl_coefficient": 0.1}, "in memory from the first step or not at all"),
        ({"detectors.rules": [{**RULE, "metric": "no/such"}]}, "there is no metric"),
    ],
)
def test_a_change_is_checked_as_a_new_run_is(model: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        with_changes(run_config(model), changes)
