"""The report on a phase that hangs: what each process is doing on its node, Ray's resources, the end of the logs."""

from __future__ import annotations

import faulthandler
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cluster.connection import import_ray
from engine.process_snapshots import ActorLocation, ProcessSnapshot, last_lines, take_snapshots
from engine.stack_text import describe, store

NODE_SECONDS = 30.0  # for other nodes to take snapshots; a process is started there for it
DRIVER = "driver"  # this process


def hang_report(actors: Sequence[ActorLocation], directory: Path) -> str:
    """The text of an alert. The full stacks, including this process's, stay in `directory / "stacks"`."""
    folder = directory / "stacks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{DRIVER}.txt").open("w") as file:
        faulthandler.dump_traceback(file, all_threads=True)
    parts = []
    for snapshot in take_snapshots_on_all_nodes(actors, folder):
        store(snapshot, folder)
        parts.append(describe(snapshot))
    parts.append(describe_cluster())
    if lines := last_lines(directory / "engine.log"):
        parts.append(f"The engine's log ends with: {lines}")
    return " ".join(parts)


def take_snapshots_on_all_nodes(actors: Sequence[ActorLocation], folder: Path) -> list[ProcessSnapshot]:
    """In the order of `actors`. A node that does not respond in time is reported as such."""
    ray = import_ray()
    here = ray.get_runtime_context().get_node_id()
    by_node = {node: [actor for actor in actors if actor.node == node] for node in {actor.node for actor in actors}}
    remote = {node: _start_on(ray, node, there, folder) for node, there in by_node.items() if node != here}
    found = {snapshot.name: snapshot for snapshot in take_snapshots(by_node.get(here, []), str(folder))}
    if remote:
        ray.wait(list(remote.values()), num_returns=len(remote), timeout=NODE_SECONDS)
    for node, reference in remote.items():
        for snapshot in _result(ray, reference, by_node[node]):
            found[snapshot.name] = snapshot
    return [found[actor.name] for actor in actors]


def _start_on(ray: Any, node: str, actors: Sequence[ActorLocation], folder: Path) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    task = ray.remote(take_snapshots).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
    return task.remote(actors, str(folder))


def _result(ray: Any, reference: Any, actors: Sequence[ActorLocation]) -> list[ProcessSnapshot]:
    try:
        found: list[ProcessSnapshot] = ray.get(reference, timeout=0)
    except ray.exceptions.RayError:  # gone, or too late
        state = "on a node that does not respond"
        return [ProcessSnapshot(name=actor.name, stack="", state=state, log="") for actor in actors]
    return found


def describe_cluster() -> str:
    """Ray's nodes and free resources."""
    ray = import_ray()
    nodes = ray.nodes()
    alive = sum(bool(node["Alive"]) for node in nodes)
    total, free = ray.cluster_resources(), ray.available_resources()
    kinds = [f"{free.get(name, 0):g} of {total[name]:g} {name}s" for name in ("GPU", "CPU") if name in total]
    return f"Ray shows {alive} of {len(nodes)} nodes alive, free: {', '.join(kinds) or 'nothing'}."
