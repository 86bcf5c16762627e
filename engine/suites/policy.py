"""What is evaluated, and where it comes from: a checkpoint of a run, a model directory, or an endpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from engine.suites.weights import weights_of, weights_of_endpoint

Kind = Literal["checkpoint", "directory", "endpoint"]
# of a run's configuration: what may differ between the training seeds of one configuration
OF_A_RUN_ONLY = ("seed", "description", "preset", "threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`weights` is empty if nothing is known of them. `run` is the name of the run's directory."""

    kind: Kind
    model: str
    endpoint: str = ""
    run: str = ""
    step: int | None = None
    training_seed: int | None = None
    configuration: str = ""
    weights: str = ""

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def local_policy(model: str) -> Policy:
    """Of a model directory, which may be the `model` of a run's checkpoint."""
    folder = Path(model)
    checkpoint = folder.parent
    run = checkpoint.parent.parent
    config = _config_of(run) if checkpoint.parent.name == "checkpoints" else None
    digits = checkpoint.name.removeprefix("step_")
    if config is None or not digits.isdigit():
        return Policy(kind="directory", model=model, weights=weights_of(model))
    return Policy(
        kind="checkpoint",
        model=model,
        run=run.resolve().name,
        step=int(digits),
        training_seed=config.get("seed"),
        configuration=configuration_of(config),
        weights=weights_of(model),
    )


def endpoint_policy(url: str, model: str) -> Policy:
    return Policy(kind="endpoint", model=model, endpoint=url, weights=weights_of_endpoint(url, model))


def configuration_of(config: Mapping[str, Any]) -> str:
    """A hash of a run's configuration that its training seeds share."""
    shared = {name: value for name, value in config.items() if name not in OF_A_RUN_ONLY}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()


def _config_of(run: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((run / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
