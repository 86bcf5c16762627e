"""The calls about environments, projects and the queue of a site, a part of `Starboard`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starboard_client.models import Answer, Run
from starboard_client.transport import Transport


class Version(Answer):
    number: int
    config: dict[str, Any]
    facts: dict[str, Any]


class Environment(Answer):
    id: int
    name: str
    kind: str
    project: str | None
    version: int
    config: dict[str, Any]
    archived: bool = False
    versions: list[Version] = []  # of one that was asked for by its number


class Preflight(Answer):
    id: int
    environment: int
    version: int
    state: str
    message: str
    report: dict[str, Any] | None


class Project(Answer):
    name: str
    slug: str
    description: str
    role: str
    runs: int


class Holder(Answer):
    """A run that has an engine slot."""

    run: str
    name: str
    owner: str | None
    state: str
    priority: str
    step: int
    total_steps: int
    left: str


class Waiting(Answer):
    run: str
    name: str
    owner: str | None
    priority: str
    position: int
    waits_for: str
    starts: str


class Queue(Answer):
    slots: int
    running: list[Holder]
    waiting: list[Waiting]
    queued: int


class SiteCalls:
    _http: Transport

    def environments(self, *, archived: bool = False) -> list[Environment]:
        found = self._http.get("environments/", archived="1" if archived else None)["environments"]
        return [Environment.model_validate(one) for one in found]

    def environment(self, environment_id: int) -> Environment:
        """With all its versions."""
        return Environment.model_validate(self._http.get(f"environments/{environment_id}/"))

    def define_environment(self, name: str, config: Mapping[str, Any], *, project: str = "") -> Environment:
        """`config` has a `kind`, its `parameters`, and perhaps an instruction, wrappers, budgets and limits."""
        body = {"name": name, "config": dict(config), "project": project}
        return Environment.model_validate(self._http.post("environments/", body))

    def edit_environment(self, environment_id: int, config: Mapping[str, Any], *, name: str = "") -> Environment:
        """A version that runs have used stays as it is: then this makes the next one."""
        body = {"config": dict(config), "name": name}
        return Environment.model_validate(self._http.post(f"environments/{environment_id}/", body))

    def archive_environment(self, environment_id: int, *, archived: bool = True) -> Environment:
        """Hides it from lists, or shows it again. Its runs keep it."""
        body = {"archived": archived}
        return Environment.model_validate(self._http.post(f"environments/{environment_id}/archive", body))

    def start_preflight(
        self,
        environment_id: int,
        *,
        player: str = "mixed:0.4",
        model: str = "",
        problems: int = 16,
        rollouts: int = 8,
        first_seed: int = 0,
    ) -> Preflight:
        """Plays problems several times, to see whether RL has anything to learn; `player` may be `model`."""
        body: dict[str, Any] = {"player": player, "model": model, "problems": problems, "rollouts": rollouts}
        body |= {"first_seed": first_seed}
        return Preflight.model_validate(self._http.post(f"environments/{environment_id}/preflights", body))

    def preflight(self, preflight_id: int) -> Preflight:
        return Preflight.model_validate(self._http.get(f"preflights/{preflight_id}/"))

    def stop_preflight(self, preflight_id: int) -> Preflight:
        return Preflight.model_validate(self._http.post(f"preflights/{preflight_id}/stop", {}))

    def projects(self) -> list[Project]:
        return [Project.model_validate(one) for one in self._http.get("projects/")["projects"]]

    def create_project(self, name: str, description: str = "") -> Project:
        """You are its admin."""
        return Project.model_validate(self._http.post("projects/", {"name": name, "description": description}))

    def queue(self) -> Queue:
        return Queue.model_validate(self._http.get("queue/"))

    def move_run(self, run_id: str, position: int) -> Run:
        """A queued run to a position in the queue, from 1."""
        return Run.model_validate(self._http.post(f"runs/{run_id}/queue-position", {"position": position}))
