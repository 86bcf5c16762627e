"""`python -m engine new-environment NAME`: a package with an environment that works, to be edited."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path
from string import Template

from engine.environments.registry import environment_kinds
from engine.errors import ConfigError

TEMPLATES = Path(__file__).parent
FILES = {
    "{name}.py": "environment.py.txt",
    "test_{name}.py": "test.py.txt",
    "pyproject.toml": "pyproject.toml.txt",
}
NEXT = """Created {directory}:
{files}

Check it:     PYTHONPATH={directory} {python} -m engine check-env {name}:{class_name}
Play it:      PYTHONPATH={directory} {python} -m engine play {name}:{class_name}
Install it:   {uv} pip install --python {python} -e {directory}
Then start Starboard again: the kind {name} is in the form for environments.
"""


def new_environment_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine new-environment", description="Create a package with a working environment."
    )
    parser.add_argument("name", help="name of the kind, such as my_maze: lower-case letters, digits and _")
    parser.add_argument("--directory", type=Path, help="where to create it (default: ./NAME)")
    options = parser.parse_args(argv)
    directory = options.directory or Path(options.name)
    written = create(options.name, directory)
    files = "\n".join(f"  {path}" for path in written)
    python = interpreter()
    names = {"name": options.name, "class_name": class_name(options.name)}
    sys.stdout.write(NEXT.format(directory=directory, files=files, python=python, uv=python.parent / "uv", **names))
    return 0


def interpreter() -> Path:
    """This Python as a command is typed: from the working directory, if it is in it."""
    python = Path(sys.executable)
    return python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python


def create(name: str, directory: Path) -> list[Path]:
    """Writes the files of the package and returns their paths; `ConfigError` if the name or the directory is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,39}", name) or keyword.iskeyword(name):
        raise ConfigError(
            f"{name!r} is not a valid name for a kind.",
            remedy="Use 2 to 40 lower-case letters, digits and _, a letter first.",
        )
    if name in environment_kinds() or name in sys.stdlib_module_names:
        raise ConfigError(f"The name {name!r} is taken.", remedy="Choose another name.")
    if directory.exists() and any(directory.iterdir()):
        raise ConfigError(f"{directory} is not empty.", remedy="Give another --directory.")
    directory.mkdir(parents=True, exist_ok=True)
    values = {
        "name": name,
        "class_name": class_name(name),
        "title": name.replace("_", " ").capitalize(),
        "package": name.replace("_", "-"),
    }
    written = []
    for target, template in FILES.items():
        path = directory / target.format(name=name)
        path.write_text(Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(values))
        written.append(path)
    return written


def class_name(name: str) -> str:
    """`my_maze` as `MyMaze`."""
    return "".join(part.capitalize() for part in name.split("_"))
