"""What is known when a phase hangs: what each process does on its node, what Ray shows, and the logs' last words."""

from __future__ import annotations

import faulthandler
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cluster.connection import import_ray
from engine.cluster.looking import Place, Seen, last_lines, look

NODE_SECONDS = 30.0  # that other nodes have to look; a process is started there for it
DRIVER = "driver"  # this process
HEADER = re.compile(r'^(?P<own>Current thread|Thread) (?P<id>\S+).*?(?P<spied>"MainThread")?$')
FRAME = re.compile(r'^\s+(?:File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)|(?P<spied>\S.*\(.+\)))$')
AN_ACTORS = "_actor.py"  # the files of our actors' methods, which Ray may call in threads beside the main one


def evidence(places: Sequence[Place], directory: Path) -> str:
    """One text for an alert; the whole stacks, this process's too, stay in `directory / "stacks"`."""
    folder = directory / "stacks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{DRIVER}.txt").open("w") as file:
        faulthandler.dump_traceback(file, all_threads=True)
    parts = []
    for seen in look_everywhere(places, folder):
        keep(seen, folder)
        parts.append(in_words(seen))
    parts.append(cluster_in_words())
    if words := last_lines(directory / "engine.log"):
        parts.append(f"The engine's log ends with: {words}")
    return " ".join(parts)


def look_everywhere(places: Sequence[Place], folder: Path) -> list[Seen]:
    """In the order of `places`. A node that does not answer in time is told as such."""
    ray = import_ray()
    here = ray.get_runtime_context().get_node_id()
    nodes = {node: [place for place in places if place.node == node] for node in {place.node for place in places}}
    asked = {node: _asked(ray, node, there, folder) for node, there in nodes.items() if node != here}
    found = {seen.name: seen for seen in look(nodes.get(here, []), str(folder))}
    if asked:
        ray.wait(list(asked.values()), num_returns=len(asked), timeout=NODE_SECONDS)
    for node, reference in asked.items():
        for seen in _answer(ray, reference, nodes[node]):
            found[seen.name] = seen
    return [found[place.name] for place in places]


def _asked(ray: Any, node: str, places: Sequence[Place], folder: Path) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    return ray.remote(look).options(num_cpus=0, max_retries=0, scheduling_strategy=there).remote(places, str(folder))


def _answer(ray: Any, reference: Any, places: Sequence[Place]) -> list[Seen]:
    try:
        found: list[Seen] = ray.get(reference, timeout=0)
    except ray.exceptions.RayError:  # gone, or too late
        return [Seen(name=place.name, stack="", state="on a node that does not answer", log="") for place in places]
    return found


def keep(seen: Seen, folder: Path) -> None:
    """Beside what Python wrote down by itself, where the process is on this node."""
    file = folder / f"{seen.name}.txt"
    known = file.read_text(errors="replace") if file.is_file() else ""
    if seen.stack and seen.stack not in known:
        file.write_text(known + seen.stack)


def in_words(seen: Seen) -> str:
    state = f" ({seen.state})" if seen.state else ""
    log = f" Its log ends with: {seen.log}." if seen.log else ""
    return f"{seen.name}{state}: {innermost(seen.stack)}.{log}"


def innermost(stack: str) -> str:
    """The newest frame of each thread that works for an actor, else of the main one. `stack` is Python's own account
    or py-spy's."""
    threads, main = threads_of(stack)
    working = [frames[0] for frames in threads.values() if any(AN_ACTORS in frame for frame in frames)]
    return ", ".join(dict.fromkeys(working or threads.get(main, [])[:1])) or "no stack"


def threads_of(stack: str) -> tuple[dict[str, list[str]], str]:
    """The frames of each thread, newest first, as it was seen last; and which is the main one, "" if none is."""
    threads: dict[str, list[str]] = {}
    main = now = ""
    for line in stack.splitlines():
        if header := HEADER.match(line):
            now = header["id"]
            threads[now] = []
            if header["spied"] or header["own"] == "Current thread":
                main = now
        elif (frame := FRAME.match(line)) and now:
            threads[now].append(frame["spied"] or f"{frame['function']} in {frame['file']}:{frame['line']}")
    return threads, main


def cluster_in_words() -> str:
    """Nodes and free resources by Ray's own account."""
    ray = import_ray()
    nodes = ray.nodes()
    alive = sum(bool(node["Alive"]) for node in nodes)
    total, free = ray.cluster_resources(), ray.available_resources()
    kinds = [f"{free.get(name, 0):g} of {total[name]:g} {name}s" for name in ("GPU", "CPU") if name in total]
    return f"Ray shows {alive} of {len(nodes)} nodes alive, free: {', '.join(kinds) or 'nothing'}."
