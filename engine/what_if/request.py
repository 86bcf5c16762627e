"""The request for a what-if, a file from the site to the engine. No torch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.section import Section

Edit = Literal["nothing", "action", "response", "prompt"]
EDITS: dict[str, str] = {
    "nothing": "nothing: sample the response again",
    "action": "the action",
    "response": "the response",
    "prompt": "the prompt",
}
LONGEST_TEXT = 50_000
EVENTS = "events.jsonl"
TRAJECTORY = "trajectory.jsonl.zst"


class WhatIfRequest(Section):
    """Fork at `turn` (from 0): earlier turns are replayed as recorded, the edit is applied, then the model
    continues."""

    run_dir: str = Field(description="The run directory of the recorded trajectory.")
    file: str = Field(description="Its trajectory file, relative to the run directory.")
    offset: int = Field(ge=0, description="Byte at which it begins in the file.")
    length: int = Field(ge=1, description="Its length in the file, in bytes.")
    turn: int = Field(ge=0, le=10_000, description="The turn to fork at, from 0.")
    edit: Edit = Field("nothing", description="What is edited: " + "; ".join(EDITS))
    text: str = Field("", max_length=LONGEST_TEXT, description="The text in its place; unused if nothing is edited.")
    checkpoint: str = Field(
        "",
        pattern=r"^(step_\d{1,10})?$",
        description="A folder of the run's checkpoints; empty: the model that training started from.",
    )
    temperature: float = Field(1.0, ge=0, le=5, description="Sampling temperature; 0 is greedy.")
    seed: int = Field(0, ge=0, le=2_000_000_000, description="Of sampling.")
    most_tokens: int = Field(4096, ge=1, le=65_536, description="Most tokens that are sampled.")
    most_seconds: float = Field(300.0, gt=0, le=3600, description="Most seconds of sampling.")
    device: Literal["auto", "cpu"] = Field("auto", description="cpu leaves the GPU to runs that train on it.")
