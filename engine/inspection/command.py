"""`python -m engine inspect-model`: what a model is and needs, before it is used."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from engine.cluster.byte_units import format_bytes
from engine.inspection.inspect import inspect_model
from engine.inspection.report import ModelReport
from engine.revisions import versioned


def inspect_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine inspect-model",
        description="Show a model's architecture, template and memory, and why it cannot be used, if so. No weights "
        "are loaded.",
    )
    parser.add_argument("path", help="directory, hub id, or name of a bundled model")
    parser.add_argument("--revision", default="", help="branch, tag or commit of a hub id (default: main)")
    parser.add_argument("--adapter", default="", help="directory of a LoRA adapter in peft's format")
    parser.add_argument("--chat-template", type=Path, help="file with a template to use instead of the model's own")
    parser.add_argument("--gpu", action="store_true", help="memory on a GPU, also where this machine has none")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    template = options.chat_template.read_text() if options.chat_template else ""
    path = versioned(options.path, options.revision)
    report = inspect_model(path, adapter=options.adapter, chat_template=template, gpu=options.gpu or None)
    sys.stdout.write(json.dumps(asdict(report), indent=1) + "\n" if options.json else "\n".join(lines(report)) + "\n")
    return 1 if report.problems else 0


def lines(report: ModelReport) -> Iterator[str]:
    yield report.path
    for problem in report.problems:
        yield f"  cannot be used: {problem}"
    if not report.parameters:
        return
    whole = "" if report.read_in_parts else ", loaded whole by each learner"
    files = f"{format_bytes(report.bytes_of_files)} of files{whole}"
    yield f"  {report.architecture}, {report.parameters:,} parameters in {files}"
    yield (
        f"  {report.layers} layers, hidden size {report.hidden:,}, {report.heads} heads ({report.kv_heads} key-value), "
        f"vocabulary {report.vocabulary:,}{', tied to the embedding' if report.tied else ''}"
    )
    yield f"  context {report.context:,} tokens, {' and '.join(report.attention)}" if report.attention else ""
    yield f"  vLLM: {report.vllm or 'supported, as far as is known'}"
    if adapter := report.adapter:
        yield (
            f"  adapter of rank {adapter.rank} and alpha {adapter.alpha:g} for {adapter.targets}: "
            f"{adapter.parameters:,} parameters in {adapter.layers} layers"
            + (f", trained on {adapter.base}" if adapter.base else "")
        )
    for memory in report.memory:
        yield f"  {memory.title}"
        yield from (f"    {sentence}" for sentence in memory.sentences)
    if report.template:
        stops = ", ".join(map(repr, report.template.stops))
        yield f"  turns end with {report.template.turn_end!r}; responses at {stops}"
        yield f"  special tokens: {', '.join(map(repr, report.template.special))}"
        if not report.template.system_role:
            yield "  no system role: the system prompt is part of the first user message"
        if report.template.opens_thought:
            yield "  the template opens <think> itself"
        shown = "hides" if report.template.hides_thoughts else "shows"
        yield f"  the template {shown} earlier thoughts: rollout.context.type={report.template.context} matches it"
        yield "  a first prompt:"
        yield from (f"    {line}" for line in report.template.example.splitlines())
