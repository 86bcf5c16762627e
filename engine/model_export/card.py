"""The model card of an exported checkpoint: where it is from, and what it achieved. No torch.

Names of runs, environments and suites are written by users, so they are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.config import ModelConfig, RunConfig
from engine.events import HeldOutResult
from engine.policies.model_paths import BUNDLED, local_folder, model_source
from engine.rollout.prompts import Message, opener

TEMPLATE = """---
{front}
---

# {run}, step {step}

A language-model agent, trained by multi-turn reinforcement learning (StarPO) with Starboard: the run {run} after {step}
of {steps} steps.

| | |
|---|---|
{facts}

## Results

{results}

## Use

`AutoModelForCausalLM.from_pretrained` and `AutoTokenizer.from_pretrained` load this directory, and vLLM serves it. In
training each response began with `{opener}`, which was given to the model after the chat template's generation prompt.
{example}
## Licence

{licence}
"""
OF_RUN = """| held-out problems of | episodes | success | 95% Wilson interval | temperature | trained on |
|---|---|---|---|---|---|"""
OF_SUITE = """| suite | item | problems | episodes | success | 95% interval | method |
|---|---|---|---|---|---|---|"""
MARKUP = re.compile(r"([\\`*_{}\[\]<>|#])")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """One item of a finished evaluation on a suite, which `suite` names with its version."""

    suite: str
    item: str
    problems: int
    episodes: int
    success: float | None
    low: float | None
    high: float | None
    interval: str  # method


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a card says. `licence` is the base model's, empty if it is not known; `example` has the messages of an
    episode's first turn."""

    run: str
    step: int
    config: RunConfig
    averaged: bool = False  # whether the weights are the moving average
    held_out: Sequence[HeldOutResult] = ()
    suites: Sequence[SuiteResult] = ()
    licence: str = ""
    example: Sequence[Message] = field(default_factory=list)


def card(origin: Origin) -> str:
    return TEMPLATE.format(
        front="\n".join(_front_matter(origin)),
        run=plain(origin.run),
        step=origin.step,
        steps=origin.config.steps,
        facts="\n".join(f"| {name} | {value} |" for name, value in _facts(origin).items()),
        results="\n\n".join(_results(origin)),
        opener=opener(think=origin.config.rollout.think),
        example=_example(origin.example),
        licence=_licence(origin),
    )


def plain(text: str) -> str:
    """`text` on one line, without a meaning in Markdown or HTML."""
    return MARKUP.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")


def _front_matter(origin: Origin) -> list[str]:
    """YAML, as the Hub reads it; strings are JSON, which is YAML."""
    lines = [f"license: {json.dumps(origin.licence)}"] if origin.licence else []
    if base := hub_id(origin.config.model.path):
        lines.append(f"base_model: {json.dumps(base)}")
    return [*lines, "library_name: transformers", "pipeline_tag: text-generation", "tags: [starboard, starpo]"]


def hub_id(path: str) -> str:
    """`path` if it names a model of the Hub, else empty."""
    is_elsewhere = path in BUNDLED or local_folder(path) is not None or path.startswith((".", "/", "~"))
    return "" if is_elsewhere else path


def _facts(origin: Origin) -> dict[str, str]:
    config = origin.config
    start = config.model.start_from
    facts = {
        "base model": _base(config.model),
        "algorithm": f"{config.algorithm.type}, {config.rollout.groups} prompts x {config.rollout.group_size}",
        "learning rate": f"{config.optimizer.learning_rate:g}",
        "environments": ", ".join(f"{plain(one.tag)} ({one.kind})" for one in config.environments),
        "training seed": str(config.seed),
    }
    if start.run:
        facts["forked from"] = f"step {start.step} of {plain(start.run)}"
    if config.model.adapter and not start.run:
        facts["starts from"] = f"the LoRA adapter {plain(Path(config.model.adapter).name)}"
    if config.model.lora.rank:
        facts["adapter"] = f"LoRA of rank {config.model.lora.rank}, merged into the weights"
    if origin.averaged:
        facts["weights"] = f"exponential moving average, decay {config.optimizer.ema_decay:g}"
    return facts


def _base(model: ModelConfig) -> str:
    """Of a folder the name only: where it was on a machine says nothing to others."""
    path = model.path
    if path in BUNDLED:
        return f"{path}, which ships with Starboard"
    name = plain(hub_id(path) or model_source(path).rstrip("/").rpartition("/")[2])
    return f"{name} at revision {plain(model.revision)}" if model.revision else name


def _results(origin: Origin) -> list[str]:
    tables = []
    if origin.held_out:
        rows = [
            f"| {plain(one.environment)} | {one.episodes} | {one.success:.3f} | {one.low:.3f} to {one.high:.3f} "
            f"| {one.temperature:g} | {one.trained_on} |"
            for one in origin.held_out
        ]
        tables.append("\n".join([OF_RUN, *rows]))
    if origin.suites:
        tables.append("\n".join([OF_SUITE, *map(_suite_row, origin.suites)]))
    return tables or ["This checkpoint has not been evaluated."]


def _suite_row(result: SuiteResult) -> str:
    return (
        f"| {plain(result.suite)} | {plain(result.item)} | {result.problems} | {result.episodes} "
        f"| {_number(result.success)} | {_number(result.low)} to {_number(result.high)} | {result.interval or '-'} |"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _example(messages: Sequence[Message]) -> str:
    if not messages:
        return ""
    said = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)
    indented = "\n".join(f"    {line}".rstrip() for line in said.splitlines())
    return f"The messages of a first turn:\n\n{indented}\n"


def _licence(origin: Origin) -> str:
    base = _base(origin.config.model)
    if origin.licence:
        return f"That of the base model, {base}: {origin.licence}."
    return f"The licence of the base model, {base}, is not recorded with its files. It applies to this model too."
