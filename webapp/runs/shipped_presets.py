"""The presets that ship, one TOML file each in `engine/configs`, as they are written there.

Those in its folder `real` are for published models on GPUs, and have not been run.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import engine
from engine.config import RunConfig, build_config

DIRECTORY = Path(str(engine.__file__)).parent / "configs"
REAL = DIRECTORY / "real"


@cache
def shipped_presets() -> dict[str, dict[str, Any]]:
    """By key, the name of the file; those at real size come last."""
    files = [*sorted(DIRECTORY.glob("*.toml")), *sorted(REAL.glob("*.toml"))]
    return {path.stem: tomllib.loads(path.read_text()) for path in files}


def at_real_size(key: str) -> bool:
    return (REAL / f"{key}.toml").is_file()


def title_of(key: str, data: dict[str, Any]) -> str:
    return str(data.get("preset", key))


def preset_titled(title: str) -> RunConfig | None:
    """Runs have the title of the preset that they began from."""
    found = (data for key, data in shipped_presets().items() if title_of(key, data) == title)
    return next((build_config(data) for data in found), None)
