"""The text of the program that starts inside a sandbox, where this package is not installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

START = """
import sys, types
for name, text in {modules!r}.items():
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
"""


@cache
def program_text(module: str, function: str, *, then: tuple[str, str] | None = None) -> str:
    """For `python -c`: defines the modules of this package that run inside, and calls `function` of `module`."""
    names = {"case": ["case"], "inside": ["case", "inside"], "enter": ["enter", "case", "inside"]}[module]
    texts = {f"engine.sandbox.{name}": Path(__file__).with_name(f"{name}.py").read_text("utf-8") for name in names}
    calls = [(module, function), *([then] if then else [])]
    lines = [f"sys.modules['engine.sandbox.{where}'].{what}()" for where, what in calls]
    return START.format(modules={"engine": "", "engine.sandbox": "", **texts}) + "\n".join(lines)
