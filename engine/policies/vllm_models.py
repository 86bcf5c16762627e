"""Which models the installed vLLM cannot run, read from its source and transformers' without loading either.

vLLM has tables of the model classes it implements. Others it runs through transformers, if their class has a
configurable attention (`ModelRegistry.inspect_model_cls` in vllm/model_executor/models/registry.py, and
`_can_set_attn_implementation` in transformers/modeling_utils.py).
"""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

GENERATING = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_TRANSFORMERS_SUPPORTED_MODELS")
FIXED_ATTENTION = re.compile(r"^class \w*Attention\w*\(nn\.Module\):", re.MULTILINE)
OPEN_ATTENTION = ("ALL_ATTENTION_FUNCTIONS.get_interface(", "_supports_attention_backend = True")


def unsupported_by_vllm(architecture: str, model_type: str, *, latent: bool = False) -> str:
    """The reason; "" if vLLM runs the model, if that is unknown, or if vLLM is not installed. `latent`: it has
    compressed keys and values."""
    if latent:
        return f"vLLM cannot be given new weights of {architecture or 'a model with compressed keys and values'}."
    tables = _tables()
    if not tables or not architecture or architecture in _generating(tables):
        return ""
    if any(architecture in classes for name, classes in tables.items() if name.endswith("_MODELS") and _in_use(name)):
        return f"vLLM supports {architecture}, but not for text generation."
    source = _transformers_source(model_type)
    if not re.search(rf"^class {re.escape(architecture)}\(", source, re.MULTILINE):
        return ""  # unknown
    if FIXED_ATTENTION.search(source) and not any(words in source for words in OPEN_ATTENTION):
        return (
            f"vLLM does not implement {architecture}, and cannot run it through transformers: its attention is fixed."
        )
    return ""


def _generating(tables: dict[str, frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*(tables.get(name, frozenset()) for name in GENERATING))


def _in_use(name: str) -> bool:
    return name not in GENERATING and not name.startswith(("_PREVIOUSLY", "_OOT", "_TRANSFORMERS", "_VLLM"))


@cache
def _tables() -> dict[str, frozenset[str]]:
    """Class names by the name of vLLM's table; empty if vLLM is not installed or has no such tables."""
    folder = _folder_of("vllm")
    registry = folder / "model_executor" / "models" / "registry.py" if folder else None
    if registry is None or not registry.is_file():
        return {}
    found: dict[str, frozenset[str]] = {}
    for line in ast.parse(registry.read_text(encoding="utf-8")).body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Dict) and isinstance(line.targets[0], ast.Name):
            keys = (key.value for key in line.value.keys if isinstance(key, ast.Constant))
            found[line.targets[0].id] = frozenset(key for key in keys if isinstance(key, str))
    return found if _generating(found) else {}


@cache
def _transformers_source(model_type: str) -> str:
    """The source of a model family; empty if transformers has none of this name."""
    name = model_type.replace("-", "_")
    folder = _folder_of("transformers") if re.fullmatch(r"\w+", name) else None
    file = folder / "models" / name / f"modeling_{name}.py" if folder else None
    return file.read_text(encoding="utf-8") if file is not None and file.is_file() else ""


def _folder_of(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None
