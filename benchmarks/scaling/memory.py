"""Peak resident memory of real updates of models of Qwen2.5's shapes, next to the memory plan: the one of 0.5B whole,
those of 3B and 7B with two and with four of their layers.

    python -m benchmarks.scaling.memory [--only NAME ...] [--results docs/scaling/memory.jsonl] [--tiny]

Each case loads a model of random weights, stored in bfloat16 as the published ones are, by the engine's own code, makes
two updates, and ends: in a process of its own, or in two with sharded weights. One case runs at a time. It is not
started where the machine has not the memory for it. Results are appended; the last of each case counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import psutil

from benchmarks.gpu.models import (
    QWEN25_HALF_BILLION,
    QWEN25_SEVEN_BILLION,
    QWEN25_THREE_BILLION,
    SMALL,
    random_model,
)
from benchmarks.operations import qwen2
from engine.cluster.byte_units import PROCESS_BYTES, format_bytes
from engine.cluster.learner_memory import LearnerMemory, learner_memory
from engine.policies.loading import load_tokenizer
from engine.policies.model_shape import ModelShape

RESULTS = Path("docs/scaling/memory.jsonl")
LORA_RANK = 32
SPARE = 3 * 1024**3  # left to other programs
LIMIT_SECONDS = 1800


LENGTH = 256  # tokens of a sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    sizes: dict[str, Any]
    model: str = ""  # how its name begins
    half: bool = True
    lora: bool
    checkpointing: bool = True
    learners: int = 1
    sequences: int  # for each learner

    @property
    def name(self) -> str:
        precision, trained = "bfloat16" if self.half else "float32", "LoRA" if self.lora else "full"
        again = ", gradient checkpointing" if self.checkpointing else ""
        return f"{self.model}{precision}, {trained}{again}, {self.learners} learner{'s' if self.learners > 1 else ''}"

    @property
    def rows(self) -> int:
        return self.sequences * self.learners

    @property
    def shape(self) -> ModelShape:
        return qwen2(self.sizes)

    @property
    def tokens(self) -> int:
        """That go through one learner at once."""
        return self.sequences * LENGTH

    def config(self, model: str) -> dict[str, Any]:
        return {
            "model": {"path": model, "lora": {"rank": LORA_RANK if self.lora else 0}},
            "optimizer": {
                "precision": "bfloat16" if self.half else "float32",
                "gradient_checkpointing": self.checkpointing,
                "micro_batch_tokens": self.tokens,
                "updates_per_step": 1,
            },
        }

    def plan(self) -> LearnerMemory:
        return learner_memory(
            self.shape,
            tokens=self.tokens,
            sampled=self.tokens // 2,
            half=self.half,
            lora_rank=LORA_RANK if self.lora else 0,
            checkpointing=self.checkpointing,
            learners=self.learners,
            process=PROCESS_BYTES,
        )


def whole() -> list[Case]:
    """The cheapest first. A full update leaves less room for tokens."""
    choices = product((1, 2), (True, False), (True, False), (False, True))
    return [
        Case(
            sizes=QWEN25_HALF_BILLION,
            half=half,
            lora=lora,
            checkpointing=checkpointing,
            learners=learners,
            sequences=2 if lora else 1,
        )
        for learners, lora, checkpointing, half in choices
    ]


def in_parts() -> list[Case]:
    """As the presets for one GPU train them. Two layers more add what one layer takes, twice."""
    large = (("3B", QWEN25_THREE_BILLION, False), ("7B", QWEN25_SEVEN_BILLION, True))
    return [
        Case(
            sizes={**sizes, "num_hidden_layers": layers},
            model=f"{name} with {layers} layers, ",
            lora=lora,
            sequences=4,
        )
        for name, sizes, lora in large
        for layers in (2, 4)
    ]


CASES = {case.name: case for case in [*whole(), *in_parts()]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help="cases, by the names that are printed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--tiny", action="store_true", help="a very small model, to try the script; writes nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only or CASES:
            case = replace(CASES[name], sizes=SMALL) if options.tiny else CASES[name]
            found = measure(case, Path(folder))
            line = json.dumps(found)
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
            if "training" in found and not options.tiny:
                with options.results.open("a") as opened:
                    opened.write(line + "\n")
    return 0


def saved_model(sizes: dict[str, Any], folder: Path) -> str:
    """As models are published: in bfloat16, with a tokenizer. The one of the last case is replaced if it differs."""
    import torch

    target, wanted = folder / "model", json.dumps(sizes)
    if (folder / "sizes.json").exists() and (folder / "sizes.json").read_text() == wanted:
        return str(target)
    (folder / "sizes.json").write_text(wanted)
    shutil.rmtree(target, ignore_errors=True)
    random_model(sizes).cpu().to(torch.bfloat16).save_pretrained(target)
    load_tokenizer("tiny").save_pretrained(target)
    return str(target)


def measure(case: Case, folder: Path) -> dict[str, Any]:
    needed = case.plan().total * case.learners
    if needed + SPARE > psutil.virtual_memory().available:
        return {"case": case.name, "not_run": f"It needs {format_bytes(needed + SPARE)} of free memory."}
    model, given = saved_model(case.sizes, folder), folder / "case.json"
    given.write_text(
        json.dumps({"config": case.config(model), "learners": case.learners, "rows": case.rows, "length": LENGTH})
    )
    rendezvous = folder / "rendezvous"
    rendezvous.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.scaling.memory_case", str(given)]
    processes = [
        subprocess.Popen(
            [*command, str(rank), f"file://{rendezvous}"], stdout=subprocess.PIPE, text=True, env=os.environ.copy()
        )
        for rank in range(case.learners)
    ]
    printed = [process.communicate(timeout=LIMIT_SECONDS)[0] for process in processes]
    if any(process.returncode for process in processes):
        return {"case": case.name, "not_run": "A learner failed; its error is above."}
    held = [json.loads(one.splitlines()[-1]) for one in printed]
    return {
        "case": case.name,
        "parameters": case.shape.parameters,
        "tokens": case.tokens,
        **{part: max(one[part] for one in held) for part in ("imported", "loading", "loaded", "training")},
    }


if __name__ == "__main__":
    sys.exit(main())
