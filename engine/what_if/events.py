"""What a what-if emits while it is played: one JSON line an event in its folder, which its page follows. No torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class WhatIfEventBase(BaseModel):
    """`time` is seconds since the epoch, set when the event is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time: float = 0.0


class Loading(WhatIfEventBase):
    kind: Literal["loading"] = "loading"
    device: str
    checkpoint: str
    model: str


class Replayed(WhatIfEventBase):
    """The recorded turns before the fork have been played again."""

    kind: Literal["replayed"] = "replayed"
    turns: int


class PromptBuilt(WhatIfEventBase):
    kind: Literal["prompt"] = "prompt"
    turn: int
    text: str


class TextSampled(WhatIfEventBase):
    """More of the response of `turn`."""

    kind: Literal["text"] = "text"
    turn: int
    text: str


class TurnPlayed(WhatIfEventBase):
    kind: Literal["turn"] = "turn"
    turn: int
    response: str
    parse: str
    executed: list[str]
    reward: float
    penalty: float


class Finished(WhatIfEventBase):
    kind: Literal["finished"] = "finished"
    turns: int
    success: bool
    episode_return: float
    stop: str
    note: str = ""  # which limit ended it


class Refused(WhatIfEventBase):
    kind: Literal["refused"] = "refused"
    message: str
    remedy: str


class Failed(WhatIfEventBase):
    kind: Literal["failed"] = "failed"
    message: str
    remedy: str


WhatIfEvent = Annotated[
    Loading | Replayed | PromptBuilt | TextSampled | TurnPlayed | Finished | Refused | Failed,
    Field(discriminator="kind"),
]
WHAT_IF_EVENT: TypeAdapter[WhatIfEvent] = TypeAdapter(WhatIfEvent)
