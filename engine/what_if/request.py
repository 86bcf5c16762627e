"""What is asked of a recorded trajectory, as a file between the site and the engine. No torch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.section import Section

Edit = Literal["nothing", "action", "response", "prompt"]
EDITS: dict[str, str] = {
    "nothing": "nothing: the model responses anew",
    "action": "its action",
    "response": "the whole response",
    "prompt": "what it is told",
}
LONGEST_TEXT = 50_000
EVENTS = "events.jsonl"
TRAJECTORY = "trajectory.jsonl.zst"


class WhatIfRequest(Section):
    """Fork at `turn` (from 0): turns before it are played as recorded, then the edit counts, then the model responses."""

    run_dir: str = Field(description="The run directory of the recorded trajectory.")
    shard: str = Field(description="Its shard, relative to the run directory.")
    offset: int = Field(ge=0, description="Where in the shard it begins, in bytes.")
    length: int = Field(ge=1, description="Its length in the shard, in bytes.")
    turn: int = Field(ge=0, le=10_000, description="The turn that differs, from 0.")
    edit: Edit = Field("nothing", description="What differs: " + "; ".join(EDITS))
    text: str = Field("", max_length=LONGEST_TEXT, description="What stands in its place; unused for nothing.")
    checkpoint: str = Field(
        "",
        pattern=r"^(step_\d{1,10})?$",
        description="A folder of the run's checkpoints; empty: the model it began with.",
    )
    temperature: float = Field(1.0, ge=0, le=5, description="Of sampling; 0 is greedy.")
    seed: int = Field(0, ge=0, le=2_000_000_000, description="Of sampling: another one rolls on in another way.")
    most_tokens: int = Field(4096, ge=1, le=65_536, description="Tokens sampled at most.")
    most_seconds: float = Field(300.0, gt=0, le=3600, description="Seconds of sampling at most.")
    device: Literal["auto", "cpu"] = Field("auto", description="cpu leaves a GPU to who trains on it.")
