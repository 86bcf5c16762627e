"""What every part of a configuration is: closed, so that a misspelt key is an error, and never changed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
