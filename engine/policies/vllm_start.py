"""Starts vLLM for one model: its arguments, what it must not change in this process, and errors at the start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from pydantic import ValidationError

from engine.config.sampling import VLLM_CPU_BATCH, VLLM_CPU_BLOCK
from engine.errors import ModelError
from engine.policies.loading import first_line
from engine.policies.model_config import model_config
from engine.policies.model_paths import model_revision, model_source
from engine.policies.vllm_installation import INSTALL

Precision = Literal["auto", "float32", "bfloat16"]
CORES = "VLLM_CPU_OMP_THREADS_BIND"


def import_platform() -> Any:
    """vLLM's description of the machine. `ModelError` if vLLM does not load.

    On a CPU it counts the ranks of log-probabilities uncompiled, since to compile that takes longer than a start.
    """
    try:
        with restoring_environment():
            from vllm.platforms import current_platform
    except Exception as error:
        raise ModelError(f"vLLM is installed but does not load: {first_line(error)}", remedy=INSTALL) from error
    if current_platform.is_cpu():
        type(current_platform).simple_compile_backend = "eager"
    return current_platform


def read_config(path: str) -> Any:
    try:
        return model_config(path)
    except Exception as error:
        raise ModelError(
            f"{path!r} has no readable configuration: {first_line(error)}",
            remedy="Give the name of a bundled model, a directory with config.json and safetensors weights, or a "
            "hub id that is in the local Hugging Face cache or can be downloaded.",
        ) from error


def arguments_for(
    path: str,
    config: Any,
    platform: Any,
    *,
    context_tokens: int,
    rows: int,
    workers: int = 1,
    memory_share: float = 0.5,
    seed: int = 0,
    dtype: Precision = "auto",
    enforce_eager: bool | None = None,
    sleeps: bool = False,
    transfer: str = "",
) -> dict[str, Any]:
    """vLLM's engine arguments, on a GPU or a CPU as `platform` says."""
    precision = precision_of(dtype, platform)
    arguments: dict[str, Any] = {
        "model": model_source(path),
        "revision": model_revision(path),
        "trust_remote_code": False,
        "load_format": "safetensors",
        "skip_tokenizer_init": True,
        "generation_config": "vllm",
        "runner": "generate",
        "dtype": precision,
        "seed": seed,
        "max_model_len": context_tokens,
        "max_num_seqs": rows,
        "tensor_parallel_size": workers,
        "distributed_executor_backend": "uni" if workers == 1 else "mp",
        "gpu_memory_utilization": memory_share,
        "enable_prefix_caching": True,
        "logprobs_mode": "processed_logprobs",  # temperature included
        "enforce_eager": platform.is_cpu() if enforce_eager is None else enforce_eager,
        "enable_sleep_mode": sleeps,
        "worker_extension_cls": "engine.policies.vllm_weights.WeightLoading",
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
    }
    if transfer:
        arguments["weight_transfer_config"] = {"backend": transfer}
    if platform.is_cpu():
        arguments |= cpu_arguments(
            config, rows=rows, context_tokens=context_tokens, precision=precision, share=memory_share
        )
    return arguments


def start(path: str, arguments: dict[str, Any]) -> Any:
    """vLLM's engine, whose scheduler runs in this process. `ModelError` with a remedy if it does not start."""
    from vllm.distributed.parallel_state import cleanup_dist_env_and_memory
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    with restoring_environment():
        bind_cores(arguments["tensor_parallel_size"])
        try:
            return LLMEngine.from_engine_args(EngineArgs(**arguments))
        except Exception as error:
            cleanup_dist_env_and_memory()
            raise refusal(path, error) from error


def precision_of(dtype: Precision, platform: Any) -> str:
    if dtype != "auto":
        return dtype
    return "bfloat16" if not platform.is_cpu() and torch.cuda.is_bf16_supported() else "float32"


def cpu_arguments(config: Any, *, rows: int, context_tokens: int, precision: str, share: float) -> dict[str, Any]:
    """Arguments for the CPU build.

    - A cache for all rows, of at most `share` of the machine's memory: vLLM would allocate the whole share, and in time
      fill it with prefixes that are never used again.
    - No chunked prefill: with a per-request seed it crashes the engine (a generator on a CPU has no offset to reset).
    """
    most = int(share * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    blocks = rows * -(-context_tokens // VLLM_CPU_BLOCK) + 1
    return {
        "block_size": VLLM_CPU_BLOCK,
        "kv_cache_memory_bytes": min(most, blocks * VLLM_CPU_BLOCK * cache_bytes_per_token(config, precision) or most),
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(context_tokens, VLLM_CPU_BATCH, rows),
    }


def cache_bytes_per_token(config: Any, precision: str) -> int:
    """Bytes of the keys and values of one token in all layers; 0 if the configuration does not say."""
    text = config.get_text_config()
    layers, heads = getattr(text, "num_hidden_layers", 0), getattr(text, "num_attention_heads", 0)
    kv_heads = getattr(text, "num_key_value_heads", None) or heads
    width = getattr(text, "head_dim", None) or getattr(text, "hidden_size", 0) // max(heads, 1)
    return int(2 * layers * kv_heads * width * (2 if precision == "bfloat16" else 4))


def refusal(path: str, error: Exception) -> ModelError:
    """An error from vLLM, as a `ModelError` with a remedy."""
    reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else first_line(error)
    text = str(error).lower()
    if "memory" in text and "illegal memory" not in text:
        return ModelError(
            f"vLLM does not have enough memory for {path!r}: {reason}",
            remedy="Give the sampler a larger share of memory, lower rollout.max_context_tokens, free memory that "
            "other programs hold, or use a smaller model or more GPUs.",
        )
    return ModelError(
        f"vLLM cannot run {path!r}: {reason}",
        remedy="Use a decoder-only language model that vLLM supports on this machine, a number of GPUs that divides "
        "its attention heads, or the local backend.",
    )


def bind_cores(workers: int) -> None:
    """Gives each of several workers an even share of this process's cores. The CPU build does that itself only for a
    worker with its own memory node; GPU workers ignore it."""
    if workers > 1 and hasattr(os, "sched_getaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        each = max(len(cores) // workers, 1)
        shares = [cores[worker * each : (worker + 1) * each] for worker in range(workers)]
        if all(shares):
            os.environ.setdefault(CORES, "|".join(",".join(map(str, share)) for share in shares))


@contextmanager
def restoring_environment() -> Iterator[None]:
    """Restores what vLLM's CPU build changes: it preloads its libraries into every program this process starts, and
    disables `torch.set_num_threads`."""
    before = {name: os.environ.get(name) for name in ("LD_PRELOAD", CORES)}
    set_num_threads = torch.set_num_threads
    try:
        yield
    finally:
        torch.set_num_threads = set_num_threads
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
