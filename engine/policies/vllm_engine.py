"""A model in vLLM for as long as a run lasts: decodes what is asked, takes the learner's weights, scores, sleeps.

Token ids in and out: vLLM never sees a tokenizer here. vLLM's scheduler runs in this process, and so does the model unless
`tensor_parallel` asks for workers. vLLM and torch.distributed meet in this process: a learner with process groups of
its own belongs into another one.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

import psutil
import torch
from torch import Tensor

from engine.errors import ConfigError, ModelError
from engine.policies.loading import context_limit_of, first_line
from engine.policies.model_paths import check_model_path, model_source
from engine.policies.vllm_installation import INSTALL, check_installation, set_up_environment
from engine.policies.vllm_weights import DueWeights

Precision = Literal["auto", "float32", "bfloat16"]
CPU_BLOCK = 32  # tokens; what the prefix cache reuses is whole blocks, and vLLM's own 128 is more than a turn
CPU_BATCH = 4096  # tokens of one forward pass
PART_BYTES = 256 * 1024**2
DRAIN_STEPS = 8
WARM_UP = [0, 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What was decoded after one prompt, its stop token included. `logprobs` are natural-log values under the
    distribution that was sampled from."""

    key: str
    ids: list[int]
    logprobs: list[float]
    prompt_tokens: int
    cached_tokens: int  # of the prompt, that the prefix cache spared


class VllmEngine:
    """`path` as `load_model` takes it; `rows` replies are decoded at once, and more wait their turn.

    `memory_share` is of one GPU's memory, weights included; on a CPU of the machine's memory, at most, for the cache
    alone. `dtype` "auto" is bfloat16 on a GPU that has it and float32 elsewhere; float32 is what equals the learner's
    log-probabilities to four digits. `enforce_eager` None compiles graphs on a GPU and not on a CPU, where that takes a
    minute. `ModelError` when vLLM is missing, does not fit torch, or cannot run the model with the memory there is.
    """

    def __init__(
        self,
        path: str,
        *,
        max_context_tokens: int,
        rows: int = 256,
        tensor_parallel: int = 1,
        memory_share: float = 0.5,
        seed: int = 0,
        dtype: Precision = "auto",
        enforce_eager: bool | None = None,
    ) -> None:
        check_installation()
        check_model_path(path)
        set_up_environment()
        platform = import_platform()
        config = read_config(path)
        self.path = path
        self.rows = rows
        self.context_tokens = context_limit_of(config, max_context_tokens)
        self.can_sleep: bool = not platform.is_cpu() and platform.is_sleep_mode_available()
        self._due = due_weights(path, config)
        self._asked = 0
        self._open: set[str] = set()
        self._whole = True  # False after weights came that were not all of them
        precision = precision_of(dtype, platform)
        arguments: dict[str, Any] = dict(
            model=model_source(path),
            skip_tokenizer_init=True,
            trust_remote_code=False,
            load_format="safetensors",
            use_tqdm_on_load=False,
            runner="generate",
            generation_config="vllm",
            dtype=precision,
            seed=seed,
            max_model_len=self.context_tokens,
            max_num_seqs=rows,
            tensor_parallel_size=tensor_parallel,
            distributed_executor_backend="uni" if tensor_parallel == 1 else "mp",
            gpu_memory_utilization=memory_share,
            enable_prefix_caching=True,
            logprobs_mode="processed_logprobs",
            enforce_eager=platform.is_cpu() if enforce_eager is None else enforce_eager,
            enable_sleep_mode=self.can_sleep,
            worker_extension_cls="engine.policies.vllm_weights.WeightIntake",
            disable_log_stats=True,
        )
        if platform.is_cpu():
            arguments |= cpu_arguments(
                config, rows=rows, context_tokens=self.context_tokens, precision=precision, share=memory_share
            )
        self._engine: Any = start(path, arguments)
        try:
            self.score([WARM_UP])
        except Exception as error:
            self.close()
            raise refusal(path, error) from error

    def submit(self, ids: list[int], *, max_tokens: int, temperature: float, seed: int, stop_ids: Iterable[int]) -> str:
        """Asks for at most `max_tokens` after `ids`, up to the first of `stop_ids`; returns the key of its completion.

        `ConfigError` when they could pass the context's limit. `temperature` 0 is greedy.
        """
        from vllm import SamplingParams

        if not ids or max_tokens < 1 or len(ids) + max_tokens > self.context_tokens:
            raise ConfigError(
                f"A prompt of {len(ids)} tokens and a reply of {max_tokens} make {len(ids) + max_tokens}, and the "
                f"sampler's context holds {self.context_tokens}; each must be at least 1.",
                remedy="Raise rollout.max_context_tokens, lower max_reply_tokens, or take a model with a longer "
                "context.",
            )
        parameters = SamplingParams(
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            stop_token_ids=sorted(stop_ids),
            ignore_eos=True,
            logprobs=0,
            flat_logprobs=True,
            detokenize=False,
            output_kind=_final_only(),
        )
        return self._add(ids, parameters)

    def step(self) -> list[Completion]:
        """One more token for every row; the completions that ended with it. An empty list also when nothing is open."""
        return [completion_of(output) for output in self._finished()]

    def abort(self, keys: Iterable[str] | None = None) -> None:
        """Forgets these requests, or all: their completions never come."""
        given_up = self._open & set(keys) if keys is not None else set(self._open)
        if given_up:
            self._open -= given_up
            self._engine.abort_request(sorted(given_up))

    @property
    def open_requests(self) -> int:
        """How many completions have yet to come."""
        return len(self._open)

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        """For each sequence the natural-log probability of every token after its first, at temperature 1.

        Computed afresh under the weights that the engine holds now, past the prefix cache. A sequence may have one token
        less than the context holds. Not while requests are open.
        """
        from vllm import SamplingParams

        assert not self._open, "score() between rollouts, not during one"
        for ids in sequences:
            if not 0 < len(ids) < self.context_tokens:
                raise ConfigError(
                    f"A sequence of {len(ids)} tokens cannot be scored: the sampler's context holds "
                    f"{self.context_tokens}, one of them for a reply.",
                    remedy="Score shorter sequences, or raise rollout.max_context_tokens.",
                )
        parameters = SamplingParams(
            temperature=0.0,
            max_tokens=1,
            prompt_logprobs=0,
            ignore_eos=True,
            flat_logprobs=True,
            detokenize=False,
            output_kind=_final_only(),
        )
        asked = {self._add(ids, parameters): place for place, ids in enumerate(sequences) if len(ids) > 1}
        scores: list[list[float]] = [[] for _ in sequences]
        while self._open:
            for output in self._finished():
                scores[asked[output.request_id]] = list(output.prompt_logprobs.logprobs)
        return scores

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Puts `weights`, all of the model's under their Hugging Face names, in place of those that it has.

        Tied embeddings may come once or under both names. What the prefix cache held of the old weights is dropped.
        `ModelError` when one is missing, unknown or misshapen; the engine then refuses to work until a later call
        brings all of them. Not while requests are open.
        """
        assert not self._open, "load_weights() between rollouts, not during one"
        self._whole = False
        self._engine.collective_rpc("begin_weights")
        try:
            for part in self._due.parts(weights, part_bytes=PART_BYTES):
                self._engine.collective_rpc("take_weights", args=(self._for_workers(part),))
        finally:
            self._engine.collective_rpc("end_weights")
        self._forget_prefixes()
        self._whole = True

    def sleep(self) -> None:
        """Gives the GPU's memory back until `wake`: weights wait in the machine's memory, cached prefixes are dropped."""
        self._check_sleep()
        self.abort()
        self._forget_prefixes()
        self._engine.sleep(level=1)

    def wake(self) -> None:
        self._check_sleep()
        self._engine.wake_up()

    def close(self) -> None:
        """Ends its workers and frees its memory. Once closed it stays so; closing twice does nothing."""
        if self._engine is None:
            return
        engine, self._engine = self._engine, None
        self._open.clear()
        engine.engine_core.shutdown()
        engine.renderer.shutdown()
        del engine
        gc.collect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add(self, ids: list[int], parameters: Any) -> str:
        from vllm.inputs import tokens_input

        if not self._whole:
            raise ModelError(
                "The sampler holds some weights of one version and some of another, since the last ones that it was "
                "given were not all of the model's.",
                remedy="Load all of the model's weights.",
            )
        self._asked += 1
        key = str(self._asked)
        self._engine.add_request(key, tokens_input(ids), parameters)
        self._open.add(key)
        return key

    def _finished(self) -> list[Any]:
        """vLLM's outputs of requests that ended with one more step."""
        if not self._open:
            return []
        ended = [output for output in self._engine.step() if output.finished and output.request_id in self._open]
        self._open -= {output.request_id for output in ended}
        return ended

    def _forget_prefixes(self) -> None:
        """A batch that was under way when its requests were aborted may hold blocks for a step or two."""
        for _ in range(DRAIN_STEPS):
            if self._engine.reset_prefix_cache():
                return
            self._engine.step()
        raise ModelError(
            "vLLM's prefix cache could not be emptied, so it would mix the new weights with what the old ones computed.",
            remedy="Start the sampler anew.",
        )

    def _for_workers(self, part: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
        """In this process as they are; to workers they travel by way of the machine's memory."""
        if self._engine.vllm_config.parallel_config.world_size == 1:
            return part
        return [(name, tensor.cpu()) for name, tensor in part]

    def _check_sleep(self) -> None:
        if not self.can_sleep:
            raise ModelError(
                "vLLM cannot sleep on a CPU: it has no memory there to give back.", remedy="Ask `can_sleep` first."
            )


def completion_of(output: Any) -> Completion:
    reply = output.outputs[0]
    if reply.finish_reason not in ("stop", "length"):
        raise ModelError(
            f"vLLM broke off a reply after {len(reply.token_ids)} tokens: {reply.finish_reason}.",
            remedy="The engine's log says why; start the sampler anew.",
        )
    return Completion(
        key=output.request_id,
        ids=list(reply.token_ids),
        logprobs=list(reply.logprobs.logprobs),
        prompt_tokens=len(output.prompt_token_ids),
        cached_tokens=output.num_cached_tokens or 0,
    )


def _final_only() -> Any:
    from vllm.sampling_params import RequestOutputKind

    return RequestOutputKind.FINAL_ONLY


def import_platform() -> Any:
    """vLLM's view of the machine. `ModelError` when vLLM does not load."""
    try:
        with undoing_what_vllm_changes():
            from vllm.platforms import current_platform
    except Exception as error:
        raise ModelError(f"vLLM is installed but does not load: {first_line(error)}", remedy=INSTALL) from error
    return current_platform


def read_config(path: str) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(model_source(path), trust_remote_code=False)
    except Exception as error:
        raise ModelError(
            f"{path!r} has no configuration that can be read: {first_line(error)}",
            remedy="Give `tiny`, a directory with config.json and safetensors weights, or a model's id that is in the "
            "local Hugging Face cache or can be downloaded.",
        ) from error


def due_weights(path: str, config: Any) -> DueWeights:
    try:
        return DueWeights(config)
    except Exception as error:
        raise refusal(path, error) from error


def precision_of(dtype: Precision, platform: Any) -> str:
    if dtype != "auto":
        return dtype
    return "bfloat16" if not platform.is_cpu() and torch.cuda.is_bf16_supported() else "float32"


def cpu_arguments(config: Any, *, rows: int, context_tokens: int, precision: str, share: float) -> dict[str, Any]:
    """What the CPU build needs to be told.

    - A cache for all rows and no more than `share` of the machine's memory: vLLM would take all of that, and in time
      use it, for prefixes that no one asks for again.
    - Prompts in one piece: with a seed of its own, one that is read in pieces ends the engine (a generator on a CPU
      has no offset to turn back).
    """
    most = int(share * psutil.virtual_memory().total)
    blocks = rows * -(-context_tokens // CPU_BLOCK) + 1
    return {
        "block_size": CPU_BLOCK,
        "kv_cache_memory_bytes": min(most, blocks * CPU_BLOCK * cache_bytes_per_token(config, precision) or most),
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(context_tokens, CPU_BATCH, rows),
    }


def cache_bytes_per_token(config: Any, precision: str) -> int:
    """Keys and values of one token in all layers; 0 where the model's configuration does not tell."""
    text = config.get_text_config()
    layers, heads = getattr(text, "num_hidden_layers", 0), getattr(text, "num_attention_heads", 0)
    kept = getattr(text, "num_key_value_heads", None) or heads
    width = getattr(text, "head_dim", None) or getattr(text, "hidden_size", 0) // max(heads, 1)
    return int(2 * layers * kept * width * (2 if precision == "bfloat16" else 4))


def start(path: str, arguments: dict[str, Any]) -> Any:
    from vllm.distributed.parallel_state import cleanup_dist_env_and_memory
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    with undoing_what_vllm_changes():
        try:
            return LLMEngine.from_engine_args(EngineArgs(**arguments))
        except Exception as error:
            cleanup_dist_env_and_memory()
            raise refusal(path, error) from error


def refusal(path: str, error: Exception) -> ModelError:
    """`error`, from vLLM, as one that says what to do."""
    reason = first_line(error)
    if "memory" in str(error).lower():
        return ModelError(
            f"vLLM has too little memory for {path!r}: {reason}",
            remedy="Give the sampler a larger share of memory, lower rollout.max_context_tokens, free memory that "
            "others hold, or take a smaller model or more GPUs.",
        )
    return ModelError(
        f"vLLM cannot run {path!r} here: {reason}",
        remedy="Take a decoder-only language model that vLLM supports on this machine, a number of GPUs that divides "
        "its attention heads, or the local backend.",
    )


@contextmanager
def undoing_what_vllm_changes() -> Iterator[None]:
    """Its CPU build preloads its own libraries into every program that this process will start, and forbids the
    process to choose its number of threads."""
    preload, set_num_threads = os.environ.get("LD_PRELOAD"), torch.set_num_threads
    try:
        yield
    finally:
        torch.set_num_threads = set_num_threads
        os.environ.pop("LD_PRELOAD", None)
        if preload is not None:
            os.environ["LD_PRELOAD"] = preload
