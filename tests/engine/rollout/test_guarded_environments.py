"""Environments that raise, hang or return nonsense: each fault is named, counted, and contained to its trajectory."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.environments.frozen_lake import FrozenLake
from engine.environments.registry import ENVIRONMENTS
from engine.errors import EnvironmentUnavailable
from engine.play import EpisodeByHand
from engine.rollout.env_state_manager import EnvStateManager
from engine.rollout.records import record_of
from engine.rollout.types import Trajectory
from engine.training.rollout_metrics import rollout_metrics
from tests.engine.models import words
from tests.engine.rollout import bad_lakes
from tests.engine.rollout.builders import Script, lake_config, proxy_of, say

pytestmark = pytest.mark.slow  # limits are waited for

DOWN = "go</think><answer>Down</answer>"
LIMITS = {"max_observation_characters": 5000}
SHORT = {"construct_seconds": 0.5, "reset_seconds": 0.5, "step_seconds": 0.5, "close_seconds": 0.5}


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Trajectory]]:
    """Four trajectories of a lake of `bad_lakes`, two of which are bad."""
    words()  # plays good lakes, once in a process

    def played(lake: str, *, workers: int = 0, members: int = 4, limits: Any = LIMITS) -> list[Trajectory]:
        monkeypatch.setattr(bad_lakes.BadLake, "closed", [])
        monkeypatch.setattr(bad_lakes.BadLake, "made", [])
        for counting in (bad_lakes.ConstructorRaises, bad_lakes.ConstructorSleeps):
            monkeypatch.setattr(counting, "count", [])
        monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"tests.engine.rollout.bad_lakes:{lake}")
        rollout = {"groups": 1, "group_size": members, "environment_workers": workers}
        return say(lake_config(rollout=rollout, limits=limits), [DOWN])

    return played


FAULTS = {
    "ConstructorRaises": ("OSError in constructor", "raised in constructor with seed .*: OSError: no ice"),
    "ResetRaises": ("OSError in reset", "raised in reset with seed .*: OSError: the ice broke"),
    "StepRaises": ("OSError in step", "raised in step with seed .*: OSError: the ice broke"),
    "StepExits": ("SystemExit in step", "SystemExit: the ice broke"),
    "StepIsInterrupted": ("KeyboardInterrupt in step", "KeyboardInterrupt: "),
    "RaisesWithoutText": ("Silent in step", "Silent: its text cannot be had, OSError"),
    "RaisesHalfACharacter": ("OSError in step", r"OSError: ice \?!{995}…"),
    "PaysNaN": ("ValueError in step", "the reward is nan; it must be finite"),
    "PaysInfinity": ("ValueError in step", "the reward is inf; it must be finite"),
    "PaysText": ("TypeError in step", "the reward is '1.0'; it must be a number"),
    "ObservesBytes": ("TypeError in step", "the observation is bytes; it must be text"),
    "ObservesMoreAndMore": ("ValueError in step", "the observation has 40000 characters, above the limit of 5000"),
    "ObservesHalfACharacter": ("ValueError in step", "the observation has half of a surrogate pair"),
    "EndsWithText": ("TypeError in step", "terminated is 'no'; it must be a bool"),
    "NeverSaysItIsOver": ("RuntimeError in step", "No episode is in progress"),
    "ReturnsFour": ("TypeError in step", "step returned tuple of 4 values; it must return observation, reward"),
    "InformsByList": ("TypeError in step", "the info is list; it must be a dict"),
    "InformsOfNothing": ("ValueError in step", "the info has no action_is_effective and no success"),
    "DrawsNaN": ("ValueError in step", "Out of range float values are not JSON compliant"),
}
HANGS = {
    "ConstructorSleeps": ("constructor", "construct_seconds"),
    "ResetSleeps": ("reset", "reset_seconds"),
    "StepLoops": ("step", "step_seconds"),
    "StepSleeps": ("step", "step_seconds"),
}


@pytest.mark.parametrize("lake", FAULTS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_fault_ends_its_own_trajectory_and_says_what_happened(
    play: Callable[..., list[Trajectory]], lake: str, workers: int
) -> None:
    kind, text = FAULTS[lake]
    played = play(lake, workers=workers if lake != "ConstructorRaises" else 0)
    assert [t.stop for t in played] == ["fault", "max_turns"] * 2
    for failed in played[::2]:
        assert failed.fault_kind == kind
        assert failed.fault.startswith("The environment 'FrozenLake' (frozen_lake) raised in ")
        assert failed.fault.endswith("check-env frozen_lake` and fix the environment.")
        assert re.search(text, failed.fault)
    assert all(not sound.fault and len(sound.turns) == 4 for sound in played[1::2])
    metrics = rollout_metrics(played)
    assert metrics["rollout/fault_rate"] == metrics["env/FrozenLake/fault_rate"] == 0.5
    if lake != "ConstructorRaises":
        assert sorted(bad_lakes.BadLake.closed) == [False, False, True, True]


@pytest.mark.parametrize("lake", HANGS)
def test_what_hangs_is_ended_by_its_own_limit_and_the_others_go_on(
    play: Callable[..., list[Trajectory]], lake: str
) -> None:
    phase, limit = HANGS[lake]
    started = time.monotonic()
    played = play(lake, limits=SHORT)
    assert time.monotonic() - started < 5
    assert [t.stop for t in played] == ["fault", "max_turns"] * 2
    assert played[0].fault_kind == f"time limit of {phase}"
    assert (
        f"did not return from {phase} with seed {played[0].seed} within 0.5 seconds, limits.{limit}" in played[0].fault
    )
    if lake != "ConstructorSleeps":
        assert sorted(bad_lakes.BadLake.closed) == [False, False, True, True]


def test_a_busy_loop_is_interrupted_and_its_thread_ends(play: Callable[..., list[Trajectory]]) -> None:
    play("StepLoops", limits=SHORT)
    until = time.monotonic() + 5
    while any(thread.name == "environment" for thread in _looping()) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _looping()


def _looping() -> list[threading.Thread]:
    """Threads in a step of a lake that loops."""
    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        while frame is not None:
            if "self" in frame.f_locals and isinstance(frame.f_locals["self"], bad_lakes.StepLoops):
                found.append(thread)
                break
            frame = frame.f_back
    return found


def test_many_that_hang_cost_a_few_limits_and_not_one_each(play: Callable[..., list[Trajectory]]) -> None:
    started = time.monotonic()
    played = play("StepSleeps", members=31, limits=SHORT)
    assert [t.stop for t in played] == ["fault", "max_turns"] * 15 + ["fault"]
    # 16 hang: 1, 2, 4, 8 and 1 at a time; each round takes the limit of 0.5 s and up to 0.25 s until it is noticed
    assert time.monotonic() - started < 5 * 0.75 + 2 < 16 * 0.5


@pytest.mark.parametrize("lake", ["CloseRaises", "CloseSleeps"])
def test_a_close_that_fails_is_counted_and_ends_nothing(play: Callable[..., list[Trajectory]], lake: str) -> None:
    played = play(lake, limits=SHORT)
    assert [t.stop for t in played] == ["max_turns"] * 4
    assert not any(t.fault for t in played)
    expected = "OSError: the door is stuck" if lake == "CloseRaises" else "did not return from close"
    assert [expected in t.close_fault for t in played] == [True, False] * 2
    assert rollout_metrics(played)["rollout/close_fault_rate"] == 0.5
    assert record_of(played[0], step=1, split="train", piece=str)["close_fault"] == played[0].close_fault


def test_an_episode_that_says_it_is_over_is_not_asked_again(play: Callable[..., list[Trajectory]]) -> None:
    played = play("SaysItIsOverAndGoesOn")
    assert [(t.stop, len(t.turns)) for t in played] == [("terminated", 1), ("max_turns", 4)] * 2


def test_of_a_strange_info_only_what_json_has_is_kept(play: Callable[..., list[Trajectory]]) -> None:
    played = play("InformsStrangely")
    assert [t.stop for t in played] == ["max_turns"] * 4
    usual = {"action_is_valid", "action_is_effective", "success"}
    assert set(played[0].turns[0].info) - usual == {"number", "flag"}
    assert played[0].turns[0].info["number"] == 3 and played[0].turns[0].info["flag"] is True


@pytest.mark.parametrize(("size", "turns"), [(4, range(1, 4)), (12, range(1))])
def test_an_environment_whose_context_is_full_is_closed(
    monkeypatch: pytest.MonkeyPatch, size: int, turns: range
) -> None:
    monkeypatch.setattr(bad_lakes.BadLake, "closed", [])
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.rollout.bad_lakes:BadLake")
    parameters = {"frozen_probability": 1.0, "size": size}
    config = lake_config(rollout={"groups": 1, "group_size": 2, "max_context_tokens": 200}, parameters=parameters)
    proxy = proxy_of(config)
    players = proxy.players(EnvStateManager(config.environments, groups=1, group_size=2, seed=1).training_batch(1))
    proxy.play_out(Script([DOWN]), players)
    assert {(player.trajectory.stop, len(player.trajectory.turns) in turns) for player in players} == {
        ("context_full", True)
    }
    assert len(bad_lakes.BadLake.closed) == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_a_cancelled_rollout_closes_its_environments_at_once(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr(bad_lakes.BadLake, "closed", [])
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.rollout.bad_lakes:StepSleeps")
    config = lake_config(rollout={"groups": 1, "group_size": 4, "environment_workers": workers})  # limits are minutes
    specs = EnvStateManager(config.environments, groups=1, group_size=4, seed=1).training_batch(1)
    started = time.monotonic()

    def cancel_soon() -> None:
        if time.monotonic() > started + 0.4:
            raise TimeoutError("cancelled")

    with pytest.raises(TimeoutError, match="cancelled"):
        proxy_of(config).rollout(Script([DOWN]), specs, check_cancelled=cancel_soon)
    assert time.monotonic() - started < 4
    assert len(bad_lakes.BadLake.closed) == 4


def test_an_environment_that_cannot_reach_what_it_needs_stops_the_rollout(
    play: Callable[..., list[Trajectory]],
) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"'FrozenLake'.* cannot go on: The ice server") as raised:
        play("HasNoServer")
    assert raised.value.remedy == "Start it."
    assert len(bad_lakes.BadLake.closed) == len(bad_lakes.BadLake.made) == 4


def test_declared_numbers_of_infos_are_reduced_per_episode(play: Callable[..., list[Trajectory]]) -> None:
    played = play("Counts")
    # four steps with 1, 2, 3, 4; members 0 and 2 have no total
    assert played[1].info_metrics == {"final": 4.0, "total": 10.0, "average": 2.5, "highest": 4.0, "lowest": 1.0}
    assert "total" not in played[0].info_metrics
    played[1].info_metrics["total"] = 20.0
    metrics = rollout_metrics(played)
    assert metrics["env/FrozenLake/total"] == 15.0  # of 20 and 10
    assert metrics["env/FrozenLake/average"] == 2.5
    assert record_of(played[3], step=1, split="train", piece=str)["info_metrics"]["total"] == 10.0


def test_a_declared_number_does_not_replace_a_metric_of_every_environment() -> None:
    played = say(lake_config(rollout={"groups": 1, "group_size": 2}), [DOWN])[0]
    played.info_metrics = {"turns": 99.0, "fault_rate": 99.0}
    metrics = rollout_metrics([played])
    assert (metrics["env/FrozenLake/turns"], metrics["env/FrozenLake/fault_rate"]) == (4.0, 0.0)


def test_an_episode_by_hand_has_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_lakes.BadLake, "closed", [])
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.rollout.bad_lakes:StepSleeps")
    config = lake_config(limits=SHORT).environments[0]
    game = EpisodeByHand(config, 1)
    with pytest.raises(Exception, match=r"did not return from step .* limits\.step_seconds"):
        game.play_actions(["Down"])
    game.close()
    assert bad_lakes.BadLake.closed == [True]


def test_seeds_of_chance_fit_32_bits_for_the_largest_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Recorded(FrozenLake):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            seen.extend([seed or 0, (options or {}).get("chance_seed", 0)])
            return super().reset(seed=seed, options=options)

    monkeypatch.setattr(
        "engine.rollout.episode.environment_of", lambda config: Recorded(Recorded.Config(**config.parameters))
    )
    config = lake_config()
    manager = EnvStateManager(config.environments, groups=1, group_size=1, seed=1)
    specs = manager.held_out_batch(config.environments[0], first_seed=2_000_000_000 + 99_999, episodes=3)
    proxy_of(config).rollout(Script([DOWN]), specs)
    assert seen and all(0 <= one < 2**32 for one in seen)
