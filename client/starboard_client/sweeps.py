"""The calls about sweeps, a part of `Starboard`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from starboard_client.models import Preset
from starboard_client.sweep_models import Sweep, SweepDetail, SweepPage, SweepPlan
from starboard_client.transport import Transport

SweepAction = Literal["stop", "hold", "resume"]
SWEEPS_AT_ONCE = 100


class SweepCalls:
    _http: Transport

    def sweep_presets(self) -> list[Preset]:
        """The sweeps that ship."""
        return [Preset.model_validate(one) for one in self._http.get("sweep-presets/")["presets"]]

    def plan_sweep(
        self,
        *,
        preset: str = "",
        definition: Mapping[str, Any] | None = None,
        toml: str | None = None,
        seeds: Sequence[int] | None = None,
        at_once: int = 1,
    ) -> SweepPlan:
        """What a sweep would train, and how long that would take. Nothing is launched."""
        body = _given(preset=preset, definition=definition, toml=toml, seeds=seeds, at_once=at_once)
        return SweepPlan.model_validate(self._http.post("sweep-plans/", body))

    def create_sweep(
        self,
        *,
        preset: str = "",
        definition: Mapping[str, Any] | None = None,
        toml: str | None = None,
        seeds: Sequence[int] | None = None,
        name: str = "",
        at_once: int = 1,
        retries: int = 1,
        priority: str = "normal",
        confirm: int | None = None,
        key: str | None = None,
    ) -> SweepDetail:
        """Queues the first runs of a sweep that ships, of a definition, or of the text of a TOML file.

        A sweep of many runs needs their number in `confirm`. Two calls with the same `key` within 24 hours give the
        same sweep; by default each call has its own.
        """
        body = _given(
            preset=preset, definition=definition, toml=toml, seeds=seeds, name=name, at_once=at_once, retries=retries,
            priority=priority, confirm=confirm,
        )  # fmt: skip
        return SweepDetail.model_validate(self._http.post("sweeps/", body, key=key or str(uuid.uuid4())))

    def sweeps(self, *, state: str | None = None, name: str | None = None, limit: int | None = None) -> Iterator[Sweep]:
        """Newest first, page by page; `limit` is the most sweeps in all."""
        after, left = None, limit
        while left is None or left > 0:
            at_once = SWEEPS_AT_ONCE if left is None else min(left, SWEEPS_AT_ONCE)
            page = SweepPage.model_validate(
                self._http.get("sweeps/", state=state, name=name, limit=at_once, after=after)
            )
            yield from page.sweeps
            left = None if left is None else left - len(page.sweeps)
            if (after := page.next) is None:
                return

    def sweep(self, sweep_id: int) -> SweepDetail:
        """With the effect of each axis, the best configuration, and every run."""
        return SweepDetail.model_validate(self._http.get(f"sweeps/{sweep_id}/"))

    def control_sweep(self, sweep_id: int, action: SweepAction) -> Sweep:
        return Sweep.model_validate(self._http.post(f"sweeps/{sweep_id}/control", {"action": action}))

    def change_sweep(
        self, sweep_id: int, *, at_once: int | None = None, retries: int | None = None, priority: str | None = None
    ) -> Sweep:
        body = _given(at_once=at_once, retries=retries, priority=priority)
        return Sweep.model_validate(self._http.post(f"sweeps/{sweep_id}/limits", body))

    def extend_sweep(
        self,
        sweep_id: int,
        *,
        seeds: Sequence[int] = (),
        values: Mapping[str, Sequence[Any]] | None = None,
        points: int | None = None,
        confirm: int | None = None,
        key: str | None = None,
    ) -> SweepDetail:
        """Adds training seeds, values by axis, or configurations to draw; `added` is the number of runs."""
        more = {name: list(found) for name, found in (values or {}).items()}
        body = _given(seeds=seeds, values=more or None, points=points, confirm=confirm)
        found = self._http.post(f"sweeps/{sweep_id}/extend", body, key=key or str(uuid.uuid4()))
        return SweepDetail.model_validate(found)

    def watch_sweep(self, sweep_id: int, *, every: float = 5.0, timeout: float | None = None) -> Iterator[Sweep]:
        """The sweep whenever its counts are others, until it has ended, or for `timeout` seconds."""
        until = time.monotonic() + timeout if timeout is not None else None
        last: object = None
        while True:
            sweep = Sweep.model_validate(self._http.get(f"sweeps/{sweep_id}/"))
            if (sweep.state, sweep.counts) != last:
                last = (sweep.state, sweep.counts)
                yield sweep
            if sweep.ended or (until is not None and time.monotonic() >= until):
                return
            time.sleep(every)


def _given(**values: Any) -> dict[str, Any]:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {name: value for name, value in plain.items() if value not in ("", None, [])}
