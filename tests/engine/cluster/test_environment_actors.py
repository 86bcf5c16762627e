"""Environments in actors of their own: the same trajectories, blocking ones at once, and what becomes of a death."""

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

from engine.cluster.actor_crew import Actors, Stages
from engine.cluster.actors import Troupe
from engine.cluster.connection import connect, disconnect
from engine.cluster.environment_actor import EnvironmentActor, Rollout
from engine.cluster.evidence import innermost
from engine.cluster.faults import ClusterFault
from engine.cluster.looking import look
from engine.cluster.needs import needs_of
from engine.cluster.placement import reserve
from engine.cluster.ray_backend import RayBackend
from engine.cluster.voice import Voice
from engine.config import RunConfig
from engine.environments.registry import ENVIRONMENTS
from engine.errors import StarboardError
from engine.rollout.action_parser import parse_response
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.types import Response, Trajectory
from tests.engine.cluster.lakes import LakeActor
from tests.engine.cluster.runs import needs_ray, ray_config
from tests.engine.rollout.builders import Script, lake_config, proxy_of, say

DOWN = "go</think><answer>Down</answer>"
SAID = [DOWN, "what", "x</think><answer>Fly || Left</answer>"]
LAKE = ENVIRONMENTS["frozen_lake"]
BREAKING = "tests.engine.training.faulty:BreakingLake"  # of a group every other member


def specs_of(config: RunConfig) -> list[EpisodeSpec]:
    sizes = {"groups": config.rollout.groups, "group_size": config.rollout.group_size}
    return EnvStateManager(config.environments, **sizes, seed=1).training_batch(1)


def newest_rows(stacks: str) -> tuple[list[int], list[int], list[int]]:
    """Of two samplers after the first began another rollout; and what an old call then leaves."""
    made = EnvironmentActor(name="environment", stacks=stacks)
    spec = specs_of(lake_config())[0]
    for rollout, row in [(Rollout(0, 1), 0), (Rollout(1, 2), 0), (Rollout(0, 1), 1), (Rollout(0, 3), 7)]:
        made.open(rollout, row, spec, think=True)
    ours, theirs = (list(made.stages[sampler][1].episodes) for sampler in (0, 1))
    made.open(Rollout(0, 1), 2, spec, think=True)
    return ours, theirs, list(made.stages[0][1].episodes)


def test_nothing_is_left_of_a_samplers_earlier_rollout_when_its_next_one_begins(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as beside:  # it changes its process
        assert beside.submit(newest_rows, str(tmp_path)).result() == ([7], [0], [7])


@pytest.fixture
def cluster(ray_address: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Any]:
    import ray

    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    connect(4, namespace=request.node.name)
    yield ray
    disconnect()


def hire(ray: Any, stacks: Path, *, lake: str, threads: int = 1, **given: Any) -> list[Any]:
    made = ray.remote(LakeActor).options(max_concurrency=threads)
    return [made.remote(lake=lake, name=f"environment-{place}", stacks=str(stacks), **given) for place in range(2)]


def say_by(actors: list[Any], config: RunConfig, *, number: int = 0) -> list[Trajectory]:
    """As `say`, with the environments in `actors`."""
    proxy, stages = proxy_of(config), Stages(actors=actors, rollout=Rollout(0, number), first=1)
    players = proxy.players(specs_of(config))
    proxy.play(Script(SAID), players, crew=Actors(stages))
    return [player.trajectory for player in players]


@pytest.mark.slow
@needs_ray
def test_actors_play_the_same_trajectories_as_one_thread_faults_too_and_load_no_torch(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, config in enumerate([lake_config(), lake_config("last_k_turns", 2), lake_config(max_turns=1)]):
        monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", BREAKING)
        if number == 0:
            actors = hire(cluster, tmp_path, lake=BREAKING, threads=3)
        played = say_by(actors, config, number=number)
        assert played == say(config, SAID)
        assert [trajectory.stop for trajectory in played[:2]] == ["fault", "max_turns"]
    heavy = cluster.get([actor.loaded.remote(["torch", "transformers", "vllm"]) for actor in actors])
    assert heavy == [[], []]


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize(("threads", "most"), [(1, 2), (3, 6)])
def test_blocking_environments_are_inside_at_once_as_many_as_actors_have_threads(
    cluster: Any, tmp_path: Path, threads: int, most: int
) -> None:
    meeting = (str(tmp_path), most)
    lake = "tests.engine.cluster.lakes:MeetingLake"
    actors = hire(cluster, tmp_path / "stacks", lake=lake, threads=threads, meeting=meeting)
    config = lake_config(rollout={"groups": 4, "group_size": 2})
    assert say_by(actors, config) == say(config, SAID)
    assert max(int(seen.name.removeprefix("seen-")) for seen in tmp_path.glob("seen-*")) == most


@pytest.mark.slow
@needs_ray
def test_an_environment_that_takes_its_actor_with_it_ends_what_that_played_and_nothing_else(
    cluster: Any, tmp_path: Path
) -> None:
    config = lake_config(rollout={"groups": 1, "group_size": 4})
    actors = hire(cluster, tmp_path, lake="tests.engine.cluster.lakes:DyingLake")
    played = say_by(actors, config)
    assert [trajectory.stop for trajectory in played] == ["fault", "max_turns"] * 2
    assert "was lost: environment actor 1 is gone" in played[0].fault
    assert [*played[1::2]] == say(config, SAID)[1::2]


class ScriptedActor:
    """A sampler without a model, which may kill environment actors after the first responses of a rollout, as often as
    the second seed says."""

    def __init__(self, config: str) -> None:
        self.config = RunConfig.model_validate_json(config)
        self.played = Counter[int]()

    def play(
        self, specs: list[EpisodeSpec], *, temperature: float, seeds: list[int], stages: Stages
    ) -> tuple[list[Trajectory], int, StarboardError | None]:
        import ray

        rollout, most = seeds
        self.played[rollout] += 1
        kills = int(temperature) if self.played[rollout] <= most else 0
        victims = [ray.get(stages.actors[place].place.remote()).pid for place in range(kills)]
        proxy = proxy_of(self.config)
        players = proxy.players(specs)
        refusal = proxy.play_out(Killing(victims), players, crew=Actors(stages))
        return [player.trajectory for player in players], 0, refusal


class Killing(Script):
    def __init__(self, victims: list[int]) -> None:
        super().__init__(SAID)
        self.victims = victims

    def advance(self, *, patient: bool = True) -> list[Response]:
        responses = super().advance(patient=patient)
        for victim in self.victims if responses else []:
            os.kill(victim, signal.SIGKILL)
        self.victims = [] if responses else self.victims
        return responses


@pytest.mark.slow
@needs_ray
def test_a_killed_environment_actor_is_told_and_replaced_and_the_next_rollout_is_whole(
    cluster: Any, tmp_path: Path
) -> None:
    lake = lake_config(rollout={"groups": 1, "group_size": 4})
    config = ray_config(cluster={"environment_actors": 2})
    needs, told = needs_of(config.cluster, gpus=False), list[tuple[str, str]]()
    group = reserve(needs, minutes=1, tell=lambda _: None, check_cancelled=lambda: None)
    troupe = Troupe(config=config, needs=needs, group=group, stacks=tmp_path / "stacks", way="object_store")
    troupe.environments = [troupe.environment(place) for place in range(2)]
    troupe.samplers = [cluster.remote(ScriptedActor).remote(lake.model_dump_json())]

    def warn(message: str, *, metric: str = "", value: float = 1.0) -> None:
        told.append((message, metric))

    backend = RayBackend(config, tmp_path, Voice(tell=lambda _: None, warn=warn))
    backend.troupe, backend.device = troupe, "cpu"

    numbers = itertools.count()

    def play(*, kill: int, times: int = 1) -> list[Trajectory]:
        return backend.play(specs_of(lake), temperature=kill, seeds=[next(numbers), times])[0]

    wanted = say(lake, SAID)
    assert play(kill=0) == wanted and not told
    left = play(kill=1)
    assert [trajectory.stop for trajectory in left] == ["fault", "max_turns"] * 2
    assert left[1::2] == wanted[1::2]
    ((message, metric),) = told
    assert "environment actor 0 is gone" in message and "Another takes its place" in message
    assert metric == "cluster/replaced_environments" and backend.metrics == {metric: 1.0}
    assert play(kill=0) == wanted
    assert play(kill=2) == wanted and len(told) == 3  # nothing was left, so it was played again
    names = [found["name"] for found in cluster.util.list_named_actors(all_namespaces=True)]
    assert sorted(names) == ["environment-0-4", "environment-1-5"]
    assert [place.name for place in troupe.places] == ["environment-0-3", "environment-0-4", "environment-1-5"]
    with pytest.raises(ClusterFault, match="Nothing of a rollout is left, in which 8 environment actors died"):
        play(kill=2, times=9)  # it is played four times
    assert play(kill=0) == wanted
    assert troupe.dismiss().proven


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize("threads", [1, 3])
def test_where_an_environment_blocks_is_in_the_stacks_of_its_actor(cluster: Any, tmp_path: Path, threads: int) -> None:
    lake = lake_config()
    (actor, _) = hire(cluster, tmp_path, lake="tests.engine.cluster.lakes:BlockingLake", threads=threads)
    where = cluster.get(actor.place.remote())
    spec, response = specs_of(lake)[0], parse_response(f"<think>{DOWN}", think=True, max_actions=1)
    cluster.get(actor.open.remote(Rollout(0, 0), 0, spec, think=True))
    never = actor.play.remote(Rollout(0, 0), 0, response)
    assert cluster.wait([never], timeout=2)[0] == []
    (seen,) = look([where._replace(name="environment-0")], str(tmp_path))
    newest = innermost(seen.stack)  # py-spy's words or Python's own
    assert "step" in newest and "lakes.py" in newest
    cluster.kill(actor)
