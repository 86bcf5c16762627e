"""What is known of a model before its weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateReport:
    """A first prompt as a run would send it, and how the template takes part in it."""

    example: str
    system_role: bool  # else the system prompt is part of the first user message
    opens_thought: bool  # the template writes <think> itself
    hides_thoughts: bool  # those of earlier responses are left out of later prompts
    context: str  # the `rollout.context.type` whose prompts are those of the template
    turn_end: str
    stops: list[str]
    special: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterReport:
    """A LoRA adapter. `base` is the model that it says it was trained on."""

    path: str
    rank: int
    alpha: float
    targets: str
    layers: int
    parameters: int
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReport:
    """Sentences on the memory of a run in one process, for each way to train."""

    title: str
    sentences: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """`problems` refuse the model; everything else is empty where a problem leaves it unknown."""

    path: str
    architecture: str = ""
    model_type: str = ""
    parameters: int = 0
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    vocabulary: int = 0
    context: int = 0  # maximum position embeddings; 0 if not configured
    tied: bool = False
    attention: list[str] = field(default_factory=list)
    bytes_of_files: int = 0
    read_in_parts: bool = False
    template: TemplateReport | None = None
    adapter: AdapterReport | None = None
    memory: list[MemoryReport] = field(default_factory=list)
    vllm: str = ""  # why vLLM cannot run it
    problems: list[str] = field(default_factory=list)
