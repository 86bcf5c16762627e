"""The calls about checkpoints, forks, what-ifs and the deletion of a run, a part of `Starboard`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from starboard_client.models import Answer, Launched
from starboard_client.transport import Transport

Edit = Literal["nothing", "action", "response", "prompt"]


class Checkpoint(Answer):
    step: int
    bytes: int
    reason: str
    time: float


class WhatIf(Answer):
    """`summary` has success, return and turns once it has finished, and `messages` the whole chat."""

    id: int
    run: str
    state: str
    message: str
    turn: int
    summary: dict[str, Any]
    messages: list[dict[str, str]] | None = None


class Freed(Answer):
    """What deleting a run freed, or would free."""

    run: str
    deleted: bool
    freed_bytes: int
    forks: int
    evaluations: int


class ForkCalls:
    _http: Transport

    def checkpoints(self, run_id: str) -> list[Checkpoint]:
        """Checkpoints that still exist, newest first."""
        return [Checkpoint.model_validate(one) for one in self._http.get(f"runs/{run_id}/checkpoints")["checkpoints"]]

    def download_checkpoint(self, run_id: str, step: int) -> Iterator[bytes]:
        """A tar archive of a Hugging Face directory, part by part."""
        return self._http.download(f"runs/{run_id}/checkpoint", step=step)

    def evaluate_checkpoint(self, run_id: str, step: int) -> None:
        """Queues an evaluation on held-out problems of the run, whose result `held_out` has later."""
        self._http.post(f"runs/{run_id}/evaluate", {"step": step})

    def fork(
        self,
        run_id: str,
        step: int,
        *,
        overrides: Mapping[str, Any] | None = None,
        name: str = "",
        project: str = "",
        tags: Sequence[str] = (),
        notes: str = "",
        priority: str = "normal",
        key: str | None = None,
    ) -> Launched:
        """Queues a run that starts from a checkpoint, by default for the remaining steps with the same settings."""
        body: dict[str, Any] = {"step": step, "overrides": dict(overrides or {}), "name": name, "project": project}
        body |= {"tags": list(tags), "notes": notes, "priority": priority}
        return Launched.model_validate(self._http.post(f"runs/{run_id}/fork", body, key=key or str(uuid.uuid4())))

    def run_again(self, run_id: str, *, key: str | None = None) -> Launched:
        """Queues a run with the same configuration and seed."""
        return Launched.model_validate(self._http.post(f"runs/{run_id}/again", {}, key=key or str(uuid.uuid4())))

    def delete_run(self, run_id: str, *, confirm: bool = False) -> Freed:
        """Deletes a run that is over with its files; without `confirm` only says what that would free."""
        return Freed.model_validate(self._http.post(f"runs/{run_id}/delete", {"confirm": confirm}))

    def start_what_if(
        self,
        run_id: str,
        turn: int,
        *,
        trajectory: int | None = None,
        what_if: int | None = None,
        edit: Edit = "nothing",
        text: str = "",
        checkpoint: int | None = None,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> WhatIf:
        """Forks a recorded trajectory, or a finished what-if, at a turn (from 1) and continues the rollout."""
        body: dict[str, Any] = {"turn": turn, "trajectory": trajectory, "what_if": what_if, "edit": edit, "text": text}
        body |= {"checkpoint": checkpoint, "temperature": temperature, "seed": seed}
        return WhatIf.model_validate(self._http.post(f"runs/{run_id}/what-ifs", body))

    def what_if(self, what_if_id: int) -> WhatIf:
        return WhatIf.model_validate(self._http.get(f"what-ifs/{what_if_id}/"))

    def stop_what_if(self, what_if_id: int) -> WhatIf:
        return WhatIf.model_validate(self._http.post(f"what-ifs/{what_if_id}/stop", {}))
