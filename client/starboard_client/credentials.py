"""The address and the token: given, from STARBOARD_URL and STARBOARD_TOKEN, or as `starboard login` saved them."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from starboard_client.errors import StarboardError

URL, TOKEN = "STARBOARD_URL", "STARBOARD_TOKEN"
HELP = f"Set {URL} and {TOKEN}, or run `starboard login`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    url: str
    token: str = field(repr=False)


def credentials(url: str | None = None, token: str | None = None) -> Credentials:
    saved = _saved()
    found_url = url or os.environ.get(URL) or saved.get("url", "")
    # a token belongs to the address beside it, and is sent to no other
    set_token = os.environ.get(TOKEN, "") if found_url == os.environ.get(URL, found_url) else ""
    saved_token = saved.get("token", "") if found_url == saved.get("url") else ""
    found_token = token or set_token or saved_token
    if not found_url:
        raise StarboardError(f"The address of the site is not known. {HELP}")
    if not found_token:
        raise StarboardError(f"There is no token for {found_url}. {HELP}")
    if not found_url.startswith(("http://", "https://")):
        raise StarboardError(f"{URL} is {found_url!r}. Give the whole address, such as https://starboard.example.org.")
    return Credentials(url=found_url.rstrip("/"), token=found_token)


def save(found: Credentials) -> Path:
    """Readable by this user only."""
    path = config_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = f"url = {json.dumps(found.url)}\ntoken = {json.dumps(found.token)}\n"
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    return path


def config_path() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "starboard" / "config.toml"


def _saved() -> dict[str, str]:
    path = config_path()
    try:
        return {name: str(value) for name, value in tomllib.loads(path.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StarboardError(f"{path} cannot be read: {error}. Run `starboard login` again.") from None
