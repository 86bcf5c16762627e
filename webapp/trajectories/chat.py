"""Recorded trajectories as chat messages, one JSON line each, for training and evaluation by other tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from engine.errors import RunDirectoryError
from engine.foreign.records import UNNAMED
from engine.rollout.prompts import Message
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory

MOST_EXPORTED = 5000  # of one download; the page says so
BATCH = 50

Record = dict[str, Any]


def messages_of(record: Record) -> list[Message]:
    """The conversation: the messages of the first prompt, then responses and observations in turn.

    With a context window, a later prompt repeats earlier turns; only its last message is new. Rollouts of other
    trainers have the new messages only.
    """
    messages: list[Message] = []
    for index, turn in enumerate(record["turns"]):
        given = turn["messages"]
        messages += given if index == 0 or record.get("kind") == UNNAMED else given[-1:]
        messages.append({"role": "assistant", "content": turn["response"]})
    return messages


def line_of(trajectory: Trajectory, record: Record) -> bytes:
    return _encoded(messages_of(record), _metadata(trajectory) | {"turns": [_turn(turn) for turn in record["turns"]]})


def lines_of(keys: Sequence[int]) -> Iterator[bytes]:
    """A line for each key, in order, in batches. One that cannot be read has no messages and an error."""
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        found = Trajectory.all_attempts.select_related("run").in_bulk(batch)
        yield b"".join(_line(found[key]) for key in batch if key in found)


def _line(trajectory: Trajectory) -> bytes:
    try:
        return line_of(trajectory, services.record(trajectory))
    except RunDirectoryError as error:
        return _encoded([], _metadata(trajectory) | {"error": error.message})


def _metadata(trajectory: Trajectory) -> Record:
    return {
        "run": trajectory.run_id,
        "run_name": trajectory.run.name,
        "step": trajectory.step,
        "split": trajectory.split,
        "environment": trajectory.environment,
        "kind": trajectory.kind,
        "group": trajectory.group,
        "member": trajectory.member,
        "seed": trajectory.seed,
        "success": trajectory.success,
        "return": trajectory.episode_return,
        "score": trajectory.score,
        "advantage": trajectory.advantage,
        "kept": trajectory.kept,
        "stop": trajectory.stop,
        "capture_reason": trajectory.reason,
    }


def _turn(turn: Record) -> Record:
    return {name: turn.get(name) for name in ("reward", "penalty", "advantage", "parse", "executed")}


def _encoded(messages: list[Message], metadata: Record) -> bytes:
    # escaped, since a lone surrogate of a response cannot be UTF-8
    return json.dumps({"messages": messages, "metadata": metadata}, allow_nan=False).encode() + b"\n"
