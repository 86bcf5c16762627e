"""One step with trajectories of 30,000 tokens: rollout, update, recording and reading, in time and memory.

A small Qwen2 with random weights and a long context plays a frozen lake until its context is full. It has not learned
to respond, so most responses run to their token limit. Training packs each trajectory into one forward pass. Peak
memory is that of the engine's process, beside the plan of the launch form. Opening such a trajectory in a browser is
measured by `benchmarks.reader_opening`.

    python -m benchmarks.long_contexts [--tokens N] [--trajectories N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.cluster.local_memory import estimate_local
from engine.config import RunConfig, build_config
from engine.event_lines import parse_event
from engine.events import StepCompleted, TrajectoriesRecorded
from engine.policies.model_shape import model_shape
from engine.rollout.trajectory_files import read_record, survey

RESPONSE = 512
WIDTH, LAYERS = 64, 2
KIBIBYTE = 1024
PHASES = ("rollout", "update", "capture")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=30_000)
    parser.add_argument("--trajectories", type=int, default=2)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        result = measure(Path(scratch), tokens=options.tokens, trajectories=options.trajectories)
    sys.stdout.write(json.dumps({"benchmark": "long_contexts", **result}) + "\n")
    return 0


def measure(folder: Path, *, tokens: int, trajectories: int) -> dict[str, Any]:
    """Seconds of each phase, bytes of the process and of the plan, and how long the recorded trajectories are."""
    model = save_model(folder / "model", positions=tokens)
    config = long_run(model, tokens=tokens, trajectories=trajectories)
    (folder / "config.json").write_text(config.model_dump_json())
    peak = peak_of_engine(folder / "config.json", folder / "run")
    events = [parse_event(line) for line in (folder / "run/events.jsonl").read_bytes().splitlines()]
    metrics = next(event.metrics for event in events if isinstance(event, StepCompleted))
    recorded = next(event for event in events if isinstance(event, TrajectoriesRecorded))
    started = time.perf_counter()
    records = list(read_all(folder / "run" / recorded.path))
    reading = time.perf_counter() - started
    plan = estimate_local(config, model_shape(str(model)), gpu=False)
    return {
        "tokens": [len(record["tokens"]["ids"]) for record in records],
        "turns": [len(record["turns"]) for record in records],
        "stops": [record["stop"] for record in records],
        "grad_norm": metrics.get("optim/grad_norm"),
        "seconds": {phase: round(metrics[f"time/{phase}"], 2) for phase in PHASES} | {"reading": round(reading, 2)},
        "peak_bytes": peak,
        "idle_bytes": peak_of("import torch, transformers, peft, engine.training.session"),
        "planned_bytes": plan.total,
    }


def read_all(path: Path) -> Iterator[dict[str, Any]]:
    for frame in survey(path):
        yield read_record(path, frame.offset, frame.length)


def save_model(folder: Path, *, positions: int) -> Path:
    """A directory like a user's, with the tokenizer of the model that ships."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from engine.policies.loading import load_tokenizer

    words = load_tokenizer("tiny")
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(words), hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=positions, tie_word_embeddings=False,
        eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def long_run(model: Path, *, tokens: int, trajectories: int) -> RunConfig:
    """Turns enough to fill the context; the whole trajectory is one forward pass."""
    lake = {"kind": "frozen_lake", "max_turns": 10_000, "max_actions": 100_000, "max_response_tokens": RESPONSE}
    return build_config({
        "steps": 1,
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")),
        "model": {"path": str(model)},
        "environments": [lake],
        "rollout": {"groups": 1, "group_size": trajectories, "max_context_tokens": tokens},
        "optimizer": {"packing": True, "micro_batch_tokens": tokens, "updates_per_step": 1},
        "loss": {"entropy_coefficient": 0.001},
        "diagnostics": {"every": 0},
        "evaluation": {"every": 0, "at_start": False, "episodes": 1, "final_episodes": 1},
        "checkpoint": {"every": 0},
        "stop": {"fault_share": 1.0},
    })  # fmt: skip


def peak_of_engine(config: Path, run: Path) -> int:
    """Bytes that an engine had at most while it trained one step. The evaluation after it, which would take as long, is
    cut short."""
    ended = threading.Event()
    threading.Thread(target=stop_after_a_step, args=(run, ended)).start()
    try:
        return _peak([sys.executable, "-m", "engine", "train", str(config), "--run-dir", str(run), "--quiet"])
    finally:
        ended.set()


def stop_after_a_step(run: Path, ended: threading.Event) -> None:
    events = run / "events.jsonl"
    while not ended.wait(0.2):
        if events.exists() and b'"step_completed"' in events.read_bytes():
            (run / "control.json").write_text(json.dumps({"request": "stop"}))
            return


def peak_of(code: str) -> int:
    return _peak([sys.executable, "-c", code])


def _peak(command: list[str]) -> int:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)  # the only call that tells one child's peak
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{said.read().decode(errors='replace')}")
    return used.ru_maxrss * KIBIBYTE


if __name__ == "__main__":
    sys.exit(main())
