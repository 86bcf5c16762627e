"""The starter run's rollout by vLLM's two engines: the one that decodes in the caller's process, as our samplers do,
and the asynchronous one, which decodes in a process of its own. Seconds to start, and sampled tokens per second.

Needs `requirements/cluster.txt`. Both play the same 128 trajectories by the same turn loop, which asks for a
trajectory's next response as soon as its last one is there, three times after a warm-up; they are measured in turn.

    python -m benchmarks.vllm_engines [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ROWS, CONTEXT, REPEATS = 128, 768, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="times that each is measured, in turn")
    parser.add_argument("--only", choices=sorted(ENGINES), help="measure one of them in this process")
    options = parser.parse_args()
    if options.only:
        sys.stdout.write(json.dumps(measure(options.only)) + "\n")
        return 0
    rounds = [{name: alone(name) for name in ENGINES} for _ in range(options.rounds)]
    result: dict[str, Any] = {"benchmark": "vllm_engines"}
    for name in ENGINES:
        for quantity in ("seconds_to_start", "tokens_per_second"):
            result[f"{name}_{quantity}"] = round(statistics.median(one[name][quantity] for one in rounds), 1)
    result["ratio"] = round(result["in_process_tokens_per_second"] / result["asynchronous_tokens_per_second"], 2)
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def alone(name: str) -> dict[str, float]:
    environment = {**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"}
    command = [sys.executable, "-m", "benchmarks.vllm_engines", "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900, check=False)
    if done.returncode:
        raise SystemExit(f"{name} could not be measured:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(name: str) -> dict[str, float]:
    from engine.config import EnvironmentConfig
    from engine.policies.loading import load_tokenizer
    from engine.rollout.agent_proxy import AgentProxy
    from engine.rollout.context_manager import ContextManager
    from engine.rollout.env_state_manager import EnvStateManager

    began = time.monotonic()
    context = ContextManager(load_tokenizer("tiny"), think=True)
    proxy = AgentProxy(context, think=True, max_context_tokens=CONTEXT)
    lake = EnvironmentConfig.model_validate({"kind": "frozen_lake", "max_turns": 5, "max_actions_per_turn": 2})
    batches = EnvStateManager([lake], groups=ROWS // 8, group_size=8, seed=0)
    with ENGINES[name]() as engine:
        started = time.monotonic() - began

        def once(step: int) -> float:
            sampler = engine(ROWS, context.stop_ids, step)
            began = time.monotonic()
            proxy.rollout(sampler, batches.training_batch(step))
            return float(sampler.sampled_tokens / (time.monotonic() - began))

        once(1)
        speed = statistics.median(once(step) for step in range(2, 2 + REPEATS))
    return {"seconds_to_start": started, "tokens_per_second": speed}


@contextmanager
def in_process() -> Iterator[Any]:
    from engine.policies.vllm_engine import VllmEngine
    from engine.policies.vllm_sampler import VllmSampler

    with VllmEngine("tiny", max_context_tokens=CONTEXT, rows=ROWS, dtype="float32") as engine:
        yield lambda rows, stops, seed: VllmSampler(engine, rows=rows, stop_ids=stops, temperature=1.0, seeds=[seed])


@contextmanager
def asynchronous() -> Iterator[Any]:
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    from engine.policies.vllm_start import arguments_for, import_platform, read_config

    arguments = arguments_for(
        "tiny", read_config("tiny"), import_platform(), context_tokens=CONTEXT, rows=ROWS, dtype="float32"
    )
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    async def start() -> Any:
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))

    engine = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield lambda rows, stops, seed: AsynchronousSampler(engine, loop, rows, stops, seed)
    finally:
        loop.call_soon_threadsafe(engine.shutdown)
        time.sleep(1)
        loop.call_soon_threadsafe(loop.stop)


class AsynchronousSampler:
    """`ResponseSampler` on vLLM's asynchronous engine: a coroutine for each response, in the loop's thread."""

    def __init__(self, engine: Any, loop: asyncio.AbstractEventLoop, rows: int, stops: set[int], seed: int) -> None:
        self.engine, self.loop, self.stops, self.seed = engine, loop, stops, seed
        self.contexts: list[list[int]] = [[] for _ in range(rows)]
        self.responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.open = self.asked = self.sampled_tokens = 0

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.contexts[row] = self.contexts[row] + ids
        self.open += 1
        self.asked += 1
        request = self._response(row, f"{self.seed}-{self.asked}", max_tokens)
        asyncio.run_coroutine_threadsafe(request, self.loop)

    async def _response(self, row: int, key: str, max_tokens: int) -> None:
        from vllm import SamplingParams
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind

        parameters = SamplingParams(
            temperature=1.0,
            max_tokens=max_tokens,
            seed=self.asked,
            stop_token_ids=sorted(self.stops),
            ignore_eos=True,
            logprobs=0,
            flat_logprobs=True,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        try:
            async for output in self.engine.generate(tokens_input(self.contexts[row]), parameters, key):
                self.responses.put((row, output.outputs[0]))
        except Exception as error:
            self.responses.put(error)

    def advance(self, *, block: bool = True) -> list[Any] | None:
        from engine.rollout.types import Response

        if not self.open:
            return [] if block else None
        found = [self.responses.get()] if block else []
        while not self.responses.empty():
            found.append(self.responses.get())
        responses = []
        for one in found:
            if isinstance(one, Exception):
                raise one
            row, response = one
            ids = list(response.token_ids)
            self.contexts[row] += ids
            self.open -= 1
            self.sampled_tokens += len(ids)
            ended, logprobs = ids[-1] in self.stops, list(response.logprobs.logprobs)
            responses.append(Response(row=row, ids=ids, logprobs=logprobs, entropies=None, ended=ended))
        return responses

    def restart(self, row: int) -> None:
        self.contexts[row] = []

    def release(self, row: int) -> None:
        self.contexts[row] = []


ENGINES = {"in_process": in_process, "asynchronous": asynchronous}

if __name__ == "__main__":
    sys.exit(main())
