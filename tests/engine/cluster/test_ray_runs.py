"""Whole runs on Ray: the same metrics as a local run, recovery from failures, and clear errors without a cluster."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engine.events import CheckpointSaved, Event, StepCompleted
from engine.metrics import OF_THE_MACHINE
from engine.rollout.trajectory_files import read_records
from engine.training.checkpoint_folder import is_valid
from engine.training.run_directory import Sink
from tests.engine.cluster.runs import (
    actors,
    at_first,
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
OF_TWO_PROGRAMS = ("policy/sampler_gap", "policy/importance_")  # of one that samples and another that learns


def metrics(directory: Path) -> dict[int, dict[str, float]]:
    """What a run on one machine and a run on Ray have in common, by step."""
    left_out = OF_THE_MACHINE + OF_TWO_PROGRAMS
    return {
        event.step: {name: value for name, value in event.metrics.items() if not name.startswith(left_out)}
        for event in events(directory)
        if isinstance(event, StepCompleted)
    }


def played(directory: Path, step: int) -> Counter[tuple[int, int]]:
    """How often each member of each group was recorded in a step."""
    *_, newest = sorted(
        (directory / "trajectories/train").glob(f"step_{step}.*jsonl.zst"), key=lambda path: path.stat().st_mtime_ns
    )
    records = read_records(newest)
    return Counter((record["group"], record["member"]) for _, _, record in records)


def kill(role: str, when: Callable[[Event], bool]) -> Sink:
    """Kills an actor at the first event of a kind."""
    return at_first(when, lambda: actors(role)[0].send_signal(signal.SIGKILL))


@pytest.fixture(scope="module")
def local_metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, float]]:
    """What a run in one process gives."""
    directory = tmp_path_factory.mktemp("runs") / "local"
    assert train(ray_config().model_copy(update={"backend": "local"}), directory) == 0
    return metrics(directory)


def test_on_two_learners_the_moving_average_is_evaluated_and_the_weights_are_trained(
    tmp_path: Path, ray_address: str, local_metrics: dict[int, dict[str, float]]
) -> None:
    """With a decay so near 1 that the average is the initial model: an evaluation of that before and after is equal,
    and the steps between are those of a run without an average."""
    config = ray_config(
        cluster={"learners": 2},
        optimizer={"updates_per_step": 1, "ema_decay": 0.9999999},
        evaluation={"every": 1, "episodes": 16, "final_episodes": 16, "weights": "ema"},
        checkpoint={"every": 1, "background": "always"},
    )
    assert train(config, tmp_path, RAY_ADDRESS=ray_address) == 0
    results = [event for event in events(tmp_path) if event.kind == "evaluation_completed"]
    assert len(results) == 4
    assert len({(event.successes, event.mean_return) for event in results}) == 1
    for step, expected in local_metrics.items():
        assert metrics(tmp_path)[step]["policy/loss"] == pytest.approx(expected["policy/loss"], abs=1e-3)
    saved = [event for event in events(tmp_path) if isinstance(event, CheckpointSaved)]
    assert [event.step for event in saved] == [1, 2, 3] and all(is_valid(tmp_path / event.path) for event in saved)
    assert (tmp_path / "checkpoints/step_3/ema/model.safetensors").is_file()


def test_a_run_on_ray_has_the_metrics_of_the_same_local_run_also_when_it_is_resumed_locally(
    tmp_path: Path, ray_address: str, local_metrics: dict[int, dict[str, float]]
) -> None:
    """From checkpoints that one learner wrote in the background."""
    checkpoint = {"every": 1, "background": "always"}
    config = ray_config(steps=2, cluster={"environment_actors": 2}, checkpoint=checkpoint)
    assert train(config, tmp_path, RAY_ADDRESS=ray_address) == 0
    (freed,) = [event for event in events(tmp_path) if event.kind == "cluster_released"]
    assert freed.proven
    saved = [event for event in events(tmp_path) if isinstance(event, CheckpointSaved)]
    assert [(event.step, event.reason) for event in saved] == [(1, "schedule"), (2, "schedule")]
    assert all(is_valid(tmp_path / event.path) for event in saved)
    more = config.model_copy(update={"backend": "local", "steps": 3})
    assert train(more, tmp_path, resume=True) == 0
    assert local_metrics.keys() == metrics(tmp_path).keys() == {1, 2, 3}
    for step, wanted in local_metrics.items():
        assert metrics(tmp_path)[step] == pytest.approx(wanted, rel=1e-4, abs=1e-5)


def test_learners_take_changed_settings_and_a_fork_their_optimizers_state(tmp_path: Path, ray_address: str) -> None:
    config = ray_config(cluster={"learners": 2}, optimizer={"learning_rate": 1e-3, "updates_per_step": 1})
    wish = {"request": "run", "settings": {"revision": 1, "changes": {"optimizer.learning_rate": 5e-4}}}

    request = at_first(rolling_out(1), lambda: (tmp_path / "first/control.json").write_text(json.dumps(wish)))
    assert train(config, tmp_path / "first", sinks=[request], RAY_ADDRESS=ray_address) == 0
    steps = [event.metrics for event in events(tmp_path / "first") if isinstance(event, StepCompleted)]
    assert (steps[0]["optim/learning_rate"], steps[2]["optim/learning_rate"]) == (1e-3, 5e-4)
    # what the two sent was compared with what the sampler holds, bit for bit and by its log-probabilities
    assert [step["cluster/compared_samplers"] for step in steps] == [1.0, 1.0, 1.0]
    assert all(step["cluster/probe_gap"] < 0.01 for step in steps)
    assert all(0.002 < step["cluster/sync_gb"] < 0.003 for step in steps)  # 4 bytes for each of 610,000 parameters

    start = {"path": "tiny", "start_from": {"run": "first", "step": 3}}
    fork = ray_config(steps=2, cluster={"learners": 2}, model=start)
    assert train(fork, tmp_path / "ray", RAY_ADDRESS=ray_address) == 0
    assert train(fork.model_copy(update={"backend": "local"}), tmp_path / "local") == 0
    ours, theirs = metrics(tmp_path / "local"), metrics(tmp_path / "ray")
    for step in (1, 2):  # the second plays what the first learned, with the moments that both took over
        assert theirs[step] == pytest.approx(ours[step], rel=1e-4, abs=1e-5)


def test_a_killed_sampler_is_replaced_within_its_step_and_a_killed_learner_ends_the_attempt_which_the_next_resumes(
    tmp_path: Path, ray_address: str
) -> None:
    config = ray_config(steps=4, cluster={"samplers": 2, "learners": 2}, rollout={"groups": 8, "group_size": 8})
    kills = [kill("SamplerActor", rolling_out(2)), kill("LearnerActor", rolling_out(3))]
    assert train(config, tmp_path, sinks=kills, RAY_ADDRESS=ray_address) == 1
    *before, freed, failed = events(tmp_path)
    (alert,) = [event for event in before if event.kind == "alert_raised" and event.rule == "cluster"]
    assert "replaces it" in alert.message
    assert freed.kind == "cluster_released" and freed.proven
    assert failed.kind == "run_failed" and failed.retryable and "learner" in failed.message
    here = config.model_copy(update={"backend": "local"})  # in one process the shards of both are read as one
    assert train(here, tmp_path, resume=True, STARBOARD_ATTEMPT="2") == 0
    resumed = [event for event in events(tmp_path) if event.kind == "run_started"][-1]
    assert resumed.resumed_from == 2
    assert sorted(metrics(tmp_path)) == [1, 2, 3, 4]
    for step in range(1, 5):  # nothing is counted twice
        assert played(tmp_path, step) == Counter({(group, member): 1 for group in range(8) for member in range(8)})


def test_a_run_that_is_interrupted_in_an_update_completes_it_saves_the_step_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    # an update that takes longer than the quarter of a second between cancellation checks
    config = ray_config(steps=1000, rollout={"groups": 16, "group_size": 16}, checkpoint={"every": 0})
    with engine(config, tmp_path) as process:
        wait_for(tmp_path, in_phase("update", 2))
        family = descendants(process)
        assert actors("SamplerActor") and actors("LearnerActor")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(100) == 3
        assert not [one for one in family if one.is_running() and one.status() != "zombie"]
    saved = [event for event in events(tmp_path) if isinstance(event, CheckpointSaved)][-1]
    assert saved.step == max(metrics(tmp_path)) == 2
    states = torch.load(tmp_path / saved.path / "learner.pt", weights_only=True)["optimizer"]["state"]
    assert {float(state["step"]) for state in states.values()} == {2.0}


def test_an_address_where_nothing_responds_fails_at_once(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, and not listening
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        assert train(ray_config(), tmp_path, RAY_ADDRESS=address) == 1
    last = events(tmp_path)[-1]
    assert last.kind == "run_failed" and not last.retryable
    assert address in last.message and "nothing responds" in last.message and "ray start --head" in last.remedy


def test_a_local_ray_that_does_not_start_is_a_retryable_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with engine(ray_config(), tmp_path / "run", RAY_TMPDIR=str(file / "no folder")) as process:
        assert process.wait(100) == 1
    last = events(tmp_path / "run")[-1]
    assert last.kind == "run_failed" and last.retryable
    assert "Ray did not start" in last.message and "RAY_TMPDIR" in last.remedy


def test_a_cluster_with_too_few_gpus_is_waited_for_until_the_time_limit(tmp_path: Path, ray_address: str) -> None:
    config = ray_config(cluster={"device": "gpu", "wait_minutes": 0.05})
    assert train(config, tmp_path, RAY_ADDRESS=ray_address) == 1
    details = [event.detail for event in events(tmp_path) if event.kind == "phase_changed"]
    assert "needs 2 GPUs, 0 free of 0" in details
    last = events(tmp_path)[-1]
    assert last.kind == "run_failed" and "needs 2 GPUs" in last.message and "cluster.wait_minutes" in last.remedy


def test_with_overlap_each_step_is_one_update_behind_and_corrected_for_it(tmp_path: Path, ray_address: str) -> None:
    cluster = {"overlap": True, "environment_actors": 1}  # with which a rollout is two actors ahead of the learner
    config = ray_config(steps=4, cluster=cluster, evaluation={"every": 2, "episodes": 4})
    assert train(config, tmp_path, RAY_ADDRESS=ray_address) == 0
    steps = {event.step: event.metrics for event in events(tmp_path) if isinstance(event, StepCompleted)}
    assert [steps[step]["policy/staleness"] for step in range(1, 5)] == [0.0, 1.0, 1.0, 1.0]
    assert steps[1]["policy/sampler_gap"] == pytest.approx(0.0, abs=1e-4)
    assert all(steps[step]["policy/sampler_gap"] > 1e-4 for step in (2, 3, 4))  # an update lies between
    for step in range(1, 5):
        assert played(tmp_path, step) == Counter({(group, member): 1 for group in range(4) for member in range(4)})


def test_a_learner_that_is_killed_during_a_rollout_ahead_is_reported_once_and_the_engine_exits_at_once(
    tmp_path: Path, ray_address: str
) -> None:
    long = {"kind": "frozen_lake", "max_turns": 8}  # so that the next rollout outlasts what becomes of the learner
    cluster, rollout = {"overlap": True, "samplers": 2}, {"groups": 8, "group_size": 16}
    config = ray_config(steps=4, cluster=cluster, rollout=rollout, environments=[long])
    at_once = kill("LearnerActor", in_phase("update", 2))  # step 3 is played meanwhile
    assert train(config, tmp_path, sinks=[at_once], RAY_ADDRESS=ray_address) == 1
    recorded = events(tmp_path)
    assert [event.kind for event in recorded if event.kind in ("run_failed", "alert_raised")] == ["run_failed"]
    failed = next(event for event in recorded if event.kind == "run_failed")
    assert time.time() - failed.time < 20
    assert failed.retryable and "learner" in failed.message
