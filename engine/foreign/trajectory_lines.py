"""Trajectories of a trainer elsewhere, as it sends them while it trains: one trajectory file for each line."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import stdev
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from engine.events import Split
from engine.foreign.group_lines import Return
from engine.foreign.records import Record, record_of_rollout
from engine.foreign.refused import Name, Refused, checked
from engine.foreign.rollouts import ForeignTurn, Rollout

MOST_TRAJECTORIES = 1000  # of a line
MOST_MESSAGES = 1000  # of a trajectory
LARGEST_INDEX = 2**31 - 1

Index = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]
Fact = bool | int | float | str | None


class MessageLine(BaseModel):
    """A chat message. One of the assistant ends a turn, and may say what followed: the actions that were played, the
    reward, and how many tokens were sampled."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: str = Field(min_length=1, max_length=40)
    content: str
    actions: list[str] | None = Field(default=None, max_length=1000)
    reward: Return | None = None
    tokens: Index = 0


class TrajectoryLine(BaseModel):
    """`return` is the sum of its rewards if it is left out; without rewards the last turn gets it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    messages: list[MessageLine] = Field(min_length=1, max_length=MOST_MESSAGES)
    group: Index = 0
    member: Index | None = None
    returned: Return | None = Field(default=None, alias="return")
    success: bool | None = None
    advantage: Return | None = None
    kept: bool | None = None
    environment: Name = ""
    seed: int = Field(default=0, ge=0, lt=2**53)
    facts: dict[str, Fact] = Field(default_factory=dict, max_length=100)


class TrajectoriesLine(BaseModel):
    model_config = ConfigDict(strict=True)

    trajectories: list[TrajectoryLine] = Field(min_length=1, max_length=MOST_TRAJECTORIES)
    split: Split = "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryFile:
    """`path` is relative to the run directory. The same line gives the same file, however often it is sent."""

    path: str
    split: Split
    records: list[Record]


def read_trajectories(data: dict[str, Any], *, step: int, seq: int, environment: str) -> TrajectoryFile:
    """`environment` is that of trajectories which name none."""
    line = checked(TrajectoriesLine, {name: data[name] for name in ("trajectories", "split") if name in data})
    rollouts = [
        _rollout(one, environment, where=f"trajectories[{index}]") for index, one in enumerate(line.trajectories)
    ]
    members = _members(line.trajectories, rollouts)
    scores: dict[tuple[str, int], list[float]] = {}
    for one, rollout in zip(line.trajectories, rollouts, strict=True):
        scores.setdefault((rollout.environment, one.group), []).append(rollout.score or 0.0)
    records = [
        record_of_rollout(
            rollout,
            step=step,
            split=line.split,
            group=one.group,
            member=member,
            group_std=_std(scores[rollout.environment, one.group]),
        )
        for one, rollout, member in zip(line.trajectories, rollouts, members, strict=True)
    ]
    return TrajectoryFile(
        path=f"trajectories/{line.split}/step_{step}_line_{seq}.jsonl.zst", split=line.split, records=records
    )


def _rollout(line: TrajectoryLine, environment: str, *, where: str) -> Rollout:
    turns: list[ForeignTurn] = []
    given: list[dict[str, str]] = []
    for message in line.messages:
        if message.role != "assistant":
            given.append({"role": message.role, "content": message.content})
            continue
        turns.append(
            ForeignTurn(
                given=given,
                response=message.content,
                reward=message.reward,
                actions=message.actions,
                tokens=message.tokens,
            )
        )
        given = []
    if not turns:
        raise Refused(f"{where}.messages has none of the assistant, so there is no response.")
    rewards = [turn.reward for turn in turns if turn.reward is not None]
    score = line.returned if line.returned is not None else float(sum(rewards))
    return Rollout(
        turns=turns,
        group=str(line.group),
        score=score,
        success=line.success if line.success is not None else score >= 1,
        seed=line.seed,
        environment=line.environment or environment,
        facts=dict(line.facts),
        advantage=line.advantage,
        kept=line.kept,
    )


def _members(lines: list[TrajectoryLine], rollouts: list[Rollout]) -> list[int]:
    """The number of each in its group: its own, or else the next that is free."""
    taken: set[tuple[str, int, int]] = set()
    found: list[int] = []
    for index, (line, rollout) in enumerate(zip(lines, rollouts, strict=True)):
        member = line.member or 0
        while line.member is None and (rollout.environment, line.group, member) in taken:
            member += 1
        if (key := (rollout.environment, line.group, member)) in taken:
            raise Refused(f"trajectories[{index}] is member {member} of group {line.group}, which the line had before.")
        taken.add(key)
        found.append(member)
    return found


def _std(scores: list[float]) -> float | None:
    return stdev(scores) if len(scores) > 1 else None
