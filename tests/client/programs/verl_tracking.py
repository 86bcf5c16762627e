"""verl's own `Tracking` with the backend, as its trainer calls it."""

from __future__ import annotations

from omegaconf import OmegaConf
from verl.utils.tracking import Tracking

config = OmegaConf.create({"trainer": {"total_training_steps": 3}, "actor_rollout_ref": {"model": {"path": "a/model"}}})
tracking = Tracking("lakes", "by verl", ["console", "starboard"], OmegaConf.to_container(config))
for step in (1, 2, 3):
    tracking.log(
        data={"actor/entropy": 1.5 / step, "critic/score/mean": 0.25 * step, "val-core/lake/acc/mean@1": 0.5}, step=step
    )
tracking.finish()
