"""Environments in actors of their own: the same trajectories, several blocking ones at once, and dead actors."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.actors import ActorPool
from engine.cluster.connection import ClusterFault, connect, disconnect
from engine.cluster.environment_actors import ActorAssignment, EnvironmentActor, RemoteEnvironments, RolloutId
from engine.cluster.placement import reserve
from engine.cluster.ray_backend import RayBackend
from engine.cluster.reporting import RunReporter
from engine.cluster.resources import required_resources
from engine.config import RunConfig
from engine.environments.registry import ENVIRONMENTS
from engine.errors import StarboardError
from engine.process_snapshots import take_snapshots
from engine.rollout.action_parser import parse_response
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.types import Response, Trajectory
from engine.stack_text import innermost
from tests.engine.cluster.lakes import LakeActor
from tests.engine.cluster.runs import needs_ray, ray_config
from tests.engine.models import words
from tests.engine.rollout.builders import Script, lake_config, proxy_of, say

DOWN = "go</think><answer>Down</answer>"
RESPONSES = [DOWN, "what", "x</think><answer>Fly || Left</answer>"]
LAKE = ENVIRONMENTS["frozen_lake"]
BREAKING = "tests.engine.training.faulty:BreakingLake"  # fails for every other member of a group


def specs_of(config: RunConfig) -> list[EpisodeSpec]:
    sizes = {"groups": config.rollout.groups, "group_size": config.rollout.group_size}
    return EnvStateManager(config.environments, **sizes, seed=1).training_batch(1)


def rows_left(stacks: str) -> tuple[list[int], list[int], list[int]]:
    """Of two samplers after the first started another rollout; then those left by a late call of an old rollout."""
    actor = EnvironmentActor(name="environment", stacks=stacks)
    spec = specs_of(lake_config())[0]
    for rollout, row in [(RolloutId(0, 1), 0), (RolloutId(1, 2), 0), (RolloutId(0, 1), 1), (RolloutId(0, 3), 7)]:
        actor.start(rollout, row, spec, think=True)
    ours, theirs = (list(actor.rollouts[sampler][1].episodes) for sampler in (0, 1))
    actor.start(RolloutId(0, 1), 2, spec, think=True)
    return ours, theirs, list(actor.rollouts[0][1].episodes)


def test_a_new_rollout_of_a_sampler_discards_its_earlier_one(tmp_path: Path) -> None:
    with ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as process:  # an actor changes its process
        assert process.submit(rows_left, str(tmp_path)).result() == ([7], [0], [7])


@pytest.fixture(scope="module", autouse=True)
def _learned() -> None:
    """The tests' tokenizer is learned from play on lakes, so before any test replaces the lake by another."""
    words()


@pytest.fixture
def cluster(ray_address: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Any]:
    import ray

    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    connect(4, namespace=request.node.name)
    yield ray
    disconnect()


def start_actors(ray: Any, stacks: Path, *, lake: str, threads: int = 1, **options: Any) -> list[Any]:
    actor = ray.remote(LakeActor).options(max_concurrency=threads)
    return [actor.remote(lake=lake, name=f"environment-{index}", stacks=str(stacks), **options) for index in range(2)]


def say_in(actors: list[Any], config: RunConfig, *, number: int = 0) -> list[Trajectory]:
    """As `say`, with the environments in `actors`."""
    proxy = proxy_of(config)
    assignment = ActorAssignment(actors=actors, rollout=RolloutId(0, number), first=1)
    players = proxy.players(specs_of(config))
    proxy.play(Script(RESPONSES), players, environments=RemoteEnvironments(assignment))
    return [player.trajectory for player in players]


@pytest.mark.slow
@needs_ray
def test_actors_play_the_same_trajectories_as_one_thread_with_the_same_faults_and_load_no_torch(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, config in enumerate([lake_config(), lake_config("last_k_turns", 2), lake_config(max_turns=1)]):
        monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", BREAKING)
        if number == 0:
            actors = start_actors(cluster, tmp_path, lake=BREAKING, threads=3)
        played = say_in(actors, config, number=number)
        assert played == say(config, RESPONSES)
        assert [trajectory.stop for trajectory in played[:2]] == ["fault", "max_turns"]
    heavy = cluster.get([actor.loaded.remote(["torch", "transformers", "vllm"]) for actor in actors])
    assert heavy == [[], []]


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize(("threads", "most"), [(1, 2), (3, 6)])
def test_as_many_blocking_environments_step_at_once_as_the_actors_have_threads(
    cluster: Any, tmp_path: Path, threads: int, most: int
) -> None:
    meeting = (str(tmp_path), most)
    lake = "tests.engine.cluster.lakes:MeetingLake"
    actors = start_actors(cluster, tmp_path / "stacks", lake=lake, threads=threads, meeting=meeting)
    config = lake_config(rollout={"groups": 4, "group_size": 2})
    assert say_in(actors, config) == say(config, RESPONSES)
    assert max(int(seen.name.removeprefix("seen-")) for seen in tmp_path.glob("seen-*")) == most


@pytest.mark.slow
@needs_ray
def test_an_environment_that_kills_its_actor_ends_only_the_trajectories_of_that_actor(
    cluster: Any, tmp_path: Path
) -> None:
    config = lake_config(rollout={"groups": 1, "group_size": 4})
    actors = start_actors(cluster, tmp_path, lake="tests.engine.cluster.lakes:DyingLake")
    played = say_in(actors, config)
    assert [trajectory.stop for trajectory in played] == ["fault", "max_turns"] * 2
    assert "was lost: environment actor 1 died during the phase rollout" in played[0].fault
    assert [*played[1::2]] == say(config, RESPONSES)[1::2]


@pytest.mark.slow
@needs_ray
def test_what_hangs_or_fails_to_close_in_an_actor_ends_only_its_own_trajectory(cluster: Any, tmp_path: Path) -> None:
    limits = {"step_seconds": 1.0, "close_seconds": 1.0}
    config = lake_config(rollout={"groups": 1, "group_size": 4}, limits=limits)
    for number, (lake, stops) in enumerate(
        [("StepSleeps", ["fault", "max_turns"] * 2), ("CloseSleeps", ["max_turns"] * 4)]
    ):
        actors = start_actors(cluster, tmp_path, lake=f"tests.engine.rollout.bad_lakes:{lake}")
        played = say_in(actors, config, number=number)
        assert [trajectory.stop for trajectory in played] == stops
        faults = [one.fault if lake == "StepSleeps" else one.close_fault for one in played]
        assert ["within 1 seconds" in fault for fault in faults] == [True, False] * 2


class ScriptedActor:
    """A sampler without a model. `temperature` is the number of environment actors it kills after the first responses
    of a rollout, and the second seed how many times."""

    def __init__(self, config: str) -> None:
        self.config = RunConfig.model_validate_json(config)
        self.played = Counter[int]()

    def play(
        self, specs: list[EpisodeSpec], *, temperature: float, seeds: list[int], assignment: ActorAssignment
    ) -> tuple[list[Trajectory], int, StarboardError | None]:
        import ray

        rollout, most = seeds
        self.played[rollout] += 1
        kills = int(temperature) if self.played[rollout] <= most else 0
        victims = [ray.get(assignment.actors[index].location.remote()).pid for index in range(kills)]
        proxy = proxy_of(self.config)
        players = proxy.players(specs)
        refusal = proxy.play_out(Killing(victims), players, environments=RemoteEnvironments(assignment))
        return [player.trajectory for player in players], 0, refusal


class Killing(Script):
    def __init__(self, victims: list[int]) -> None:
        super().__init__(RESPONSES)
        self.victims = victims

    def advance(self, *, block: bool = True) -> list[Response]:
        responses = super().advance(block=block)
        for victim in self.victims if responses else []:
            os.kill(victim, signal.SIGKILL)
        self.victims = [] if responses else self.victims
        return responses


@pytest.mark.slow
@needs_ray
def test_a_killed_environment_actor_is_reported_and_replaced_and_the_next_rollout_is_complete(
    cluster: Any, tmp_path: Path
) -> None:
    lake = lake_config(rollout={"groups": 1, "group_size": 4})
    config = ray_config(cluster={"environment_actors": 2})
    resources, warnings = required_resources(config.cluster, gpus=False), list[tuple[str, str]]()

    def warn(message: str, *, metric: str = "", value: float = 1.0) -> None:
        warnings.append((message, metric))

    reporter = RunReporter(status=lambda _: None, warn=warn)
    group = reserve(resources, minutes=1, reporter=reporter)
    pool = ActorPool(
        config=config, resources=resources, group=group, stacks=tmp_path / "stacks", transfer="object_store"
    )
    pool.environments = [pool.environment(index) for index in range(2)]
    pool.samplers = [cluster.remote(ScriptedActor).remote(lake.model_dump_json())]

    backend = RayBackend(config, tmp_path, reporter)
    backend.pool, backend.device = pool, "cpu"

    numbers = itertools.count()

    def play(*, kill: int, times: int = 1) -> list[Trajectory]:
        return backend.play(specs_of(lake), temperature=kill, seeds=[next(numbers), times])[0]

    expected = say(lake, RESPONSES)
    assert play(kill=0) == expected and not warnings
    left = play(kill=1)
    assert [trajectory.stop for trajectory in left] == ["fault", "max_turns"] * 2
    assert left[1::2] == expected[1::2]
    ((message, metric),) = warnings
    assert "environment actor 0 died during the phase rollout" in message and "A new one replaces it" in message
    assert metric == "cluster/replaced_environments" and backend.metrics == {metric: 1.0}
    assert play(kill=0) == expected
    assert play(kill=2) == expected and len(warnings) == 3  # no trajectory was left, so it was played again
    names = [found["name"] for found in cluster.util.list_named_actors(all_namespaces=True)]
    assert sorted(names) == ["environment-0-4", "environment-1-5"]
    assert [location.name for location in pool.locations] == ["environment-0-3", "environment-0-4", "environment-1-5"]
    with pytest.raises(ClusterFault, match="No trajectory of a rollout is left: 8 environment actors died"):
        play(kill=2, times=9)  # it is played four times
    assert play(kill=0) == expected
    assert pool.release().confirmed


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize("threads", [1, 3])
def test_the_stacks_of_an_actor_show_where_its_environment_blocks(cluster: Any, tmp_path: Path, threads: int) -> None:
    lake = lake_config()
    (actor, _) = start_actors(cluster, tmp_path, lake="tests.engine.cluster.lakes:BlockingLake", threads=threads)
    where = cluster.get(actor.location.remote())
    spec, response = specs_of(lake)[0], parse_response(f"<think>{DOWN}", think=True, max_actions=1)
    cluster.get(actor.start.remote(RolloutId(0, 0), 0, spec, think=True))
    endless = actor.step.remote(RolloutId(0, 0), 0, response)
    assert cluster.wait([endless], timeout=2)[0] == []
    (snapshot,) = take_snapshots([where._replace(name="environment-0")], str(tmp_path))
    newest = innermost(snapshot.stack)  # in py-spy's format or Python's own
    assert "step" in newest and "lakes.py" in newest
    cluster.kill(actor)
