"""The messages of the environment protocol: JSON over HTTP, one resource for each episode.

| Request | Body | Answer |
|---|---|---|
| GET /v1/environment | | `About` |
| POST /v1/episodes | `Start` | 201 and `Begun` |
| POST /v1/episodes/ID/steps | `Action` | `Stepped` |
| DELETE /v1/episodes/ID | | 204 |

A step names its index, so that a repeated request is answered again and not played twice. Errors are
`{"error": {"kind", "message"}}` with a status of 400 (bad request), 401, 404 (no such episode), 409 (the episode is
over, or steps are out of order), 413, 429 (too many episodes) or 500 (the environment raised).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = 1
MOST_BYTES = 4 * 2**20  # of one message
TOKEN_VARIABLE = "STARBOARD_ENVIRONMENT_TOKEN"  # noqa: S105, the name of a variable


class Message(BaseModel):
    """Fields that are not known are ignored, so that a server may send more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class About(Message):
    """What holds for every episode."""

    protocol: Literal[1] = 1
    title: str = Field(min_length=1, max_length=60)
    instruction: str = Field("", max_length=4000)
    legend: str = Field("", max_length=20_000)
    separator: str | None = "||"
    answer_form: str = Field("action", max_length=200)
    split_by: Literal["hash", "own", "none"] = "hash"
    info_metrics: dict[str, Literal["last", "sum", "mean", "max", "min"]] = Field(default_factory=dict)


class State(Message):
    """What a model sees and may do. `actions` is null where an action is free text."""

    observation: str
    actions: list[str] | None = None
    drawing: dict[str, Any] | None = None


class Start(Message):
    seed: int = Field(ge=0, lt=2**32)
    chance_seed: int = Field(ge=0, lt=2**32)
    split: Literal["train", "held_out"] = "train"


class Begun(Message):
    """`solution` lists the texts of a shortest list of actions; null if success cannot be reached, "unknown" if neither
    is known."""

    episode: str = Field(min_length=1, max_length=100)
    problem: str
    state: State
    solution: list[str] | Literal["unknown"] | None = "unknown"


class Action(Message):
    """`index` counts the steps of the episode from 0."""

    index: int = Field(ge=0)
    action: str


class Stepped(Message):
    state: State
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
