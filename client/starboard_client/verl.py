"""The backend `starboard` of verl's `Tracking`, for `trainer.logger='["console","starboard"]'`.

verl has no list of backends that others can add to, so `Tracking` is replaced by a class that knows one more. verl
imports this module in every process by itself, as a plug-in, where this package is installed (verl 0.8 and newer);
older ones import it if VERL_USE_EXTERNAL_MODULES is `starboard_client.verl`.
"""

from __future__ import annotations

import atexit
from typing import Any

import verl.utils.tracking as tracking

from starboard_client.recorder import Recorder

NAME = "starboard"


class StarboardTracking(tracking.Tracking):  # type: ignore[misc]
    supported_backend = [*tracking.Tracking.supported_backend, NAME]

    def __init__(
        self, project_name: str, experiment_name: str, default_backend: Any = "console", config: Any = None
    ) -> None:
        named = [default_backend] if isinstance(default_backend, str) else list(default_backend)
        super().__init__(project_name, experiment_name, [name for name in named if name != NAME], config)
        if NAME in named:
            self.logger[NAME] = Backend(project_name, experiment_name, config)

    def finish(self, exit_code: int = 0) -> None:
        backend = getattr(self, "logger", {}).get(NAME)
        if backend is not None:
            backend.finish(exit_code)
        if hasattr(super(), "finish"):  # verl 0.6 has none
            super().finish(exit_code)


class Backend:
    """What `Tracking` calls: `log(data, step)`. A run is finished if its last step was reported."""

    def __init__(self, project: str, name: str, config: Any) -> None:
        settings = _plain(config)
        self.last = 0
        self.total = _steps(settings)
        self.recorder = Recorder(
            project,
            source="verl",
            name=name,
            config=settings,
            model=str(_at(settings, "actor_rollout_ref", "model", "path") or ""),
            steps=self.total,
        )
        self.ended = False
        atexit.register(self.finish)

    def log(self, data: dict[str, Any], step: int) -> None:
        self.last = max(self.last, step)
        held_out = {name: value for name, value in data.items() if name.startswith(("val-core/", "val-aux/"))}
        self.recorder.log({**data, **_as_eval(held_out)}, step)

    def finish(self, exit_code: int = 0) -> None:
        """verl ends its trackers also after an exception, and then does not say so."""
        if self.ended:
            return
        self.ended = True
        atexit.unregister(self.finish)
        short = f"It ended after step {self.last} of {self.total}." if self.last < self.total else ""
        if exit_code:
            short = f"It ended with exit status {exit_code}. {short}".strip()
        self.recorder.finish(succeeded=not short, reason=short)


def _as_eval(metrics: dict[str, Any]) -> dict[str, Any]:
    """verl's validation is an evaluation on held-out problems: `val-core/<data source>/<score>` with its own charts."""
    return {f"eval/{name.partition('/')[2]}": value for name, value in metrics.items()}


def _plain(config: Any) -> dict[str, Any]:
    if config is None or isinstance(config, dict):
        return dict(config or {})
    from omegaconf import OmegaConf

    found: dict[str, Any] = OmegaConf.to_container(config, resolve=True)
    return found


def _at(settings: Any, *path: str) -> Any:
    for name in path:
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


def _steps(settings: dict[str, Any]) -> int:
    found = _at(settings, "trainer", "total_training_steps")
    return found if isinstance(found, int) and found > 0 else 0


tracking.Tracking = StarboardTracking
