"""Whole runs on Ray: the same numbers as here, faults that are mended, and clear words when there is no cluster."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections import Counter
from pathlib import Path

import pytest
import torch

from engine.events import CheckpointSaved, StepCompleted
from engine.rollout.shards import read_records
from tests.engine.cluster.runs import (
    actors,
    descendants,
    engine,
    events,
    in_phase,
    needs_ray,
    ray_config,
    rolling_out,
    train,
    wait_for,
)

pytestmark = [pytest.mark.slow, needs_ray]
OF_THE_MACHINE = ("time/", "perf/", "cluster/")


def metrics(directory: Path) -> dict[int, dict[str, float]]:
    return {
        event.step: {name: value for name, value in event.metrics.items() if not name.startswith(OF_THE_MACHINE)}
        for event in events(directory)
        if isinstance(event, StepCompleted)
    }


def played(directory: Path, step: int) -> Counter[tuple[int, int]]:
    """How often each member of each group was recorded in a step."""
    records = read_records(directory / f"trajectories/train/step_{step}.jsonl.zst")
    return Counter((record["group"], record["member"]) for _, _, record in records)


def test_a_run_on_ray_has_the_numbers_of_the_same_run_without(tmp_path: Path, ray_address: str) -> None:
    config = ray_config()
    assert train(config, tmp_path / "ray", RAY_ADDRESS=ray_address) == 0
    assert train(config.model_copy(update={"backend": "local"}), tmp_path / "local") == 0
    ours, theirs = metrics(tmp_path / "local"), metrics(tmp_path / "ray")
    assert ours.keys() == theirs.keys() == {1, 2, 3}
    for step, wanted in ours.items():
        assert theirs[step] == pytest.approx(wanted, rel=1e-4, abs=1e-5)


def test_learners_take_changed_settings_and_a_fork_their_optimizers_state(tmp_path: Path, ray_address: str) -> None:
    config = ray_config(cluster={"learners": 2}, optimizer={"learning_rate": 1e-3, "updates_per_step": 1})
    wish = {"request": "run", "settings": {"revision": 1, "changes": {"optimizer.learning_rate": 5e-4}}}
    with engine(config, tmp_path / "first", RAY_ADDRESS=ray_address) as process:
        wait_for(tmp_path / "first", rolling_out(1))
        (tmp_path / "first" / "control.json").write_text(json.dumps(wish))
        assert process.wait(200) == 0
    rates = [step["optim/learning_rate"] for step in metrics(tmp_path / "first").values()]
    assert (rates[0], rates[2]) == (1e-3, 5e-4)

    start = {"path": "tiny", "start_from": {"run": "first", "step": 3}}
    fork = ray_config(steps=2, cluster={"learners": 2}, model=start)
    assert train(fork, tmp_path / "ray", RAY_ADDRESS=ray_address) == 0
    assert train(fork.model_copy(update={"backend": "local"}), tmp_path / "local") == 0
    ours, theirs = metrics(tmp_path / "local"), metrics(tmp_path / "ray")
    for step in (1, 2):  # the second plays what the first learned, with the moments that both took over
        assert theirs[step] == pytest.approx(ours[step], rel=1e-4, abs=1e-5)


def test_a_sampler_that_is_killed_in_a_rollout_is_replaced_and_no_trajectory_counts_twice(
    tmp_path: Path, ray_address: str
) -> None:
    config = ray_config(steps=4, cluster={"samplers": 2}, rollout={"groups": 8, "group_size": 8})
    with engine(config, tmp_path, RAY_ADDRESS=ray_address) as process:
        wait_for(tmp_path, rolling_out(2))
        actors("SamplerActor")[0].send_signal(signal.SIGKILL)
        assert process.wait(200) == 0
    told = [event for event in events(tmp_path) if event.kind == "alert_raised" and event.rule == "cluster"]
    assert len(told) == 1 and "takes its place" in told[0].message
    for step in range(1, 5):
        assert played(tmp_path, step) == Counter({(group, member): 1 for group in range(8) for member in range(8)})


def test_a_learner_that_is_killed_ends_the_attempt_as_mendable_and_the_next_one_goes_on(
    tmp_path: Path, ray_address: str
) -> None:
    config = ray_config(steps=4, cluster={"learners": 2}, rollout={"groups": 8, "group_size": 8})
    with engine(config, tmp_path, RAY_ADDRESS=ray_address) as process:
        wait_for(tmp_path, rolling_out(3))
        actors("LearnerActor")[0].send_signal(signal.SIGKILL)
        assert process.wait(200) == 1
    last = events(tmp_path)[-1]
    assert last.kind == "run_failed" and last.mendable and "learner" in last.message
    assert train(config, tmp_path, "--resume", STARBOARD_ATTEMPT="2", RAY_ADDRESS=ray_address) == 0
    resumed = [event for event in events(tmp_path) if event.kind == "run_started"][-1]
    assert resumed.resumed_from == 2
    assert sorted(metrics(tmp_path)) == [1, 2, 3, 4]


def test_a_run_that_is_told_to_leave_saves_and_leaves_no_process(tmp_path: Path) -> None:
    with engine(ray_config(steps=1000), tmp_path) as process:
        wait_for(tmp_path, rolling_out(2))
        family = descendants(process)
        assert actors("SamplerActor") and actors("LearnerActor")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(100) == 3
        assert not [one for one in family if one.is_running() and one.status() != "zombie"]
    saved = [event.step for event in events(tmp_path) if event.kind == "checkpoint_saved"]
    assert saved[-1] == max(metrics(tmp_path))


def test_a_run_that_is_told_to_leave_in_an_update_finishes_it_and_saves_the_step_that_its_weights_are_of(
    tmp_path: Path, ray_address: str
) -> None:
    # an update that takes longer than the quarter of a second after which waiting looks whether to leave
    config = ray_config(steps=1000, rollout={"groups": 16, "group_size": 16}, checkpoint={"every": 0})
    with engine(config, tmp_path, RAY_ADDRESS=ray_address) as process:
        wait_for(tmp_path, in_phase("update", 2))
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(100) == 3
    saved = events(tmp_path)[-1]
    assert isinstance(saved, CheckpointSaved) and saved.step == 2
    states = torch.load(tmp_path / saved.path / "learner.pt", weights_only=True)["optimizer"]["state"]
    assert {float(state["step"]) for state in states.values()} == {2.0}


def test_an_address_where_nothing_answers_is_said_at_once(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, and not listening
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        assert train(ray_config(), tmp_path, RAY_ADDRESS=address) == 1
    last = events(tmp_path)[-1]
    assert last.kind == "run_failed" and not last.mendable
    assert address in last.message and "nothing answers" in last.message and "ray start --head" in last.remedy


def test_a_ray_that_does_not_start_here_may_start_when_it_is_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert train(ray_config(), tmp_path / "run", RAY_TMPDIR=str(file / "no folder")) == 1
    last = events(tmp_path / "run")[-1]
    assert last.kind == "run_failed" and last.mendable
    assert "Ray did not start" in last.message and "RAY_TMPDIR" in last.remedy


def test_a_cluster_with_too_few_gpus_is_waited_for_in_words_and_then_given_up(tmp_path: Path, ray_address: str) -> None:
    config = ray_config(cluster={"device": "gpu", "wait_minutes": 0.05})
    assert train(config, tmp_path, RAY_ADDRESS=ray_address) == 1
    details = [event.detail for event in events(tmp_path) if event.kind == "phase_changed"]
    assert "needs 2 GPUs, 0 free of 0" in details
    last = events(tmp_path)[-1]
    assert last.kind == "run_failed" and "needs 2 GPUs" in last.message and "cluster.wait_minutes" in last.remedy


def test_one_rollout_ahead_each_step_is_one_update_behind_and_corrected_for_it(
    tmp_path: Path, ray_address: str
) -> None:
    config = ray_config(steps=4, cluster={"overlap": True}, evaluation={"every": 2, "episodes": 4})
    assert train(config, tmp_path, RAY_ADDRESS=ray_address) == 0
    steps = {event.step: event.metrics for event in events(tmp_path) if isinstance(event, StepCompleted)}
    assert [steps[step]["policy/staleness"] for step in range(1, 5)] == [0.0, 1.0, 1.0, 1.0]
    assert steps[1]["policy/sampler_gap"] == pytest.approx(0.0, abs=1e-4)
    assert all(steps[step]["policy/sampler_gap"] > 1e-4 for step in (2, 3, 4))  # an update lies between
    for step in range(1, 5):
        assert played(tmp_path, step) == Counter({(group, member): 1 for group in range(4) for member in range(4)})
