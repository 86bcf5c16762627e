"""What a dump of stacks says in one line: the newest frame of each thread that matters."""

from __future__ import annotations

import re
from pathlib import Path

from engine.process_snapshots import ProcessSnapshot

HEADER = re.compile(r'^(?P<own>Current thread|Thread) (?P<id>\S+).*?(?P<spied>"MainThread")?$')
FRAME = re.compile(r'^\s+(?:File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)|(?P<spied>\S.*\(.+\)))$')
ACTOR_FILE = re.compile(r"_actors?\.py")  # where our actors' methods are, which Ray may call in threads of their own
# what runs environments for them, and what waits for it meanwhile
GUARDED = re.compile(r"\b_run\b.*environments/guard\.py|\brun\b.*rollout/environment_pool\.py")
WAITING = re.compile(r"\bcall_guarded\b.*environments/guard\.py")


def store(snapshot: ProcessSnapshot, folder: Path) -> None:
    """Appends the stack to Python's own dump, if the process is on this node and dumped one."""
    file = folder / f"{snapshot.name}.txt"
    known = file.read_text(errors="replace") if file.is_file() else ""
    if snapshot.stack and snapshot.stack not in known:
        file.write_text(known + snapshot.stack)


def describe(snapshot: ProcessSnapshot) -> str:
    state = f" ({snapshot.state})" if snapshot.state else ""
    log = f" Its log ends with: {snapshot.log}." if snapshot.log else ""
    return f"{snapshot.name}{state}: {innermost(snapshot.stack)}.{log}"


def innermost(stack: str) -> str:
    """The newest frame of each thread that runs an actor's method or an environment, else of the main thread. `stack`
    is in Python's own format or in py-spy's."""
    threads, main = threads_of(stack)
    working = [frames[0] for frames in threads.values() if _works(frames)]
    return ", ".join(dict.fromkeys(working or threads.get(main, [])[:1])) or "no stack"


def _works(frames: list[str]) -> bool:
    if any(GUARDED.search(frame) for frame in frames[1:]):
        return True
    in_actor = any(ACTOR_FILE.search(frame) for frame in frames)
    return in_actor and not any(WAITING.search(frame) for frame in frames)


def threads_of(stack: str) -> tuple[dict[str, list[str]], str]:
    """The latest frames of each thread, newest first, and the id of the main thread, "" if it is not known."""
    threads: dict[str, list[str]] = {}
    main = current = ""
    for line in stack.splitlines():
        if header := HEADER.match(line):
            current = header["id"]
            threads[current] = []
            if header["spied"] or header["own"] == "Current thread":
                main = current
        elif (frame := FRAME.match(line)) and current:
            threads[current].append(frame["spied"] or f"{frame['function']} in {frame['file']}:{frame['line']}")
    return threads, main
