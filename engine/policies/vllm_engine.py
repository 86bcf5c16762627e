"""A model in vLLM for as long as a run lasts: decodes what is asked, takes the learner's weights, scores, sleeps.

Token ids in and out: vLLM never sees a tokenizer here. Its scheduler runs in this process, and so does the model unless
`tensor_parallel` asks for workers. It sets up torch.distributed for itself, so a learner with process groups belongs
into another process.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from torch import Tensor

from engine.errors import ConfigError, ModelError
from engine.policies.loading import context_limit_of
from engine.policies.model_paths import check_model_path
from engine.policies.vllm_installation import check_installation, set_up_environment
from engine.policies.vllm_start import Precision, arguments_for, import_platform, read_config, refusal, start
from engine.policies.vllm_weights import DueWeights
from engine.policies.weight_sums import WeightSum

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
    """`path` as `load_model` takes it; `rows` responses are decoded at once, and more wait their turn.

    `memory_share` is of one GPU's memory, weights included; on a CPU of the machine's memory, at most, for the cache
    alone. `dtype` "auto" is bfloat16 on a GPU that has it and float32 elsewhere; float32 is what equals the learner's
    log-probabilities to four digits. `enforce_eager` None compiles graphs on a GPU and not on a CPU, where that takes a
    minute. `transfer` names one of vLLM's own ways to take weights, beside `load_weights`, which works always.
    `ModelError` when vLLM is missing, does not fit torch, or cannot run the model with the memory there is.
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
        transfer: str = "",
    ) -> None:
        check_installation()
        check_model_path(path)
        set_up_environment()
        platform = import_platform()
        config = read_config(path)
        self.rows = rows
        self.tensor_parallel = tensor_parallel
        self.context_tokens = context_limit_of(config, max_context_tokens)
        self.can_sleep: bool = not platform.is_cpu() and platform.is_sleep_mode_available()
        self._asked = 0
        self._open: set[str] = set()
        self._missing: set[str] = set()  # of an update that is under way
        self._whole = True  # False after weights came that were not all of them
        self._awake = True
        self._engine: Any = None
        try:
            self._due = DueWeights(config)
        except Exception as error:
            raise refusal(path, error) from error
        arguments = arguments_for(
            path,
            config,
            platform,
            context_tokens=self.context_tokens,
            rows=rows,
            workers=tensor_parallel,
            memory_share=memory_share,
            seed=seed,
            dtype=dtype,
            enforce_eager=enforce_eager,
            sleeps=self.can_sleep,
            transfer=transfer,
        )
        self._engine = start(path, arguments)
        try:
            self.score([WARM_UP])  # some of what a machine lacks shows only at work
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
                f"A prompt of {len(ids)} tokens and a response of {max_tokens} make {len(ids) + max_tokens}, and the "
                f"sampler's context holds {self.context_tokens}; each must be at least 1.",
                remedy="Raise rollout.max_context_tokens, lower max_response_tokens, or take a model with a longer "
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

        Computed afresh under the weights that the engine holds now, past the prefix cache. A sequence may have one
        token less than the context holds. Not while requests are open.
        """
        from vllm import SamplingParams

        self._check_idle()
        for ids in sequences:
            if not 0 < len(ids) < self.context_tokens:
                raise ConfigError(
                    f"A sequence of {len(ids)} tokens cannot be scored: the sampler's context holds "
                    f"{self.context_tokens}, one of them for a response.",
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
        self._check_idle()
        self._whole = False
        self._engine.collective_rpc("begin_weights")
        try:
            for part in self._due.parts(weights, part_bytes=PART_BYTES):
                self._engine.collective_rpc("take_weights", args=(self._for_workers(part),))
        finally:
            self._engine.collective_rpc("end_weights")
        self._forget_prefixes()
        self._whole = True

    def join_transfer(self, link: dict[str, Any]) -> None:
        """Meets the sender of `transfer`, as `link` says; returns when the sender is there too."""
        self._engine.collective_rpc("quiet_reload")
        self._engine.collective_rpc("init_weight_transfer_engine", kwargs={"init_info": link})

    def leave_transfer(self) -> None:
        """So that it can be joined anew. Nothing where it was not joined."""
        self._engine.collective_rpc("shutdown_weight_transfer_engine")

    def start_update(self) -> None:
        """Weights are about to come by `transfer`: all of the model's until `finish_update`. Not while requests are
        open."""
        self._check_idle()
        self._whole = False
        self._missing = set(self._due.names)
        self._engine.collective_rpc("start_weight_update")

    def take_update(self, part: dict[str, Any]) -> None:
        """What vLLM calls update info: names and shapes of what comes now, and what its way needs beside them.

        `ModelError` at one that is unknown or misshapen, before anything is taken.
        """
        for name, shape in zip(part["names"], part["shapes"], strict=True):
            self._due.check(name, tuple(shape))
        self._engine.collective_rpc("update_weights", kwargs={"update_info": part})
        self._missing -= set(part["names"])

    def finish_update(self) -> None:
        """`ModelError` for what did not come; the engine then refuses to work until it has all."""
        self._engine.collective_rpc("finish_weight_update")
        self._forget_prefixes()
        self._due.check_all_came(self._missing)
        self._whole = True

    def held_sums(self) -> dict[str, WeightSum]:
        """Checksums of the weights that it holds. Nothing where several workers share them: some have the same ones."""
        if self.tensor_parallel > 1:
            return {}
        found: dict[str, WeightSum] = self._engine.collective_rpc("sum_weights")[0]
        return found

    def sleep(self) -> None:
        """Gives the GPU's memory back until `wake`. Weights wait in the machine's memory; cached prefixes and open
        requests are dropped."""
        self._check_sleep()
        if not self._awake:
            return
        self.abort()
        self._forget_prefixes()
        self._engine.sleep(level=1)
        self._awake = False

    def wake(self) -> None:
        self._check_sleep()
        if not self._awake:
            self._engine.wake_up()
            self._awake = True

    def close(self) -> None:
        """Ends its workers and frees its memory. Once closed it stays so; closing twice does nothing."""
        if self._engine is None:
            return
        engine, self._engine = self._engine, None
        self._open.clear()
        engine.engine_core.shutdown()
        engine.renderer.shutdown()
        multiprocessing.active_children()  # reaps workers that have ended
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

        self._check_awake()
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
            "vLLM's prefix cache could not be emptied, so it would mix new weights with what the old ones computed.",
            remedy="Start the sampler anew.",
        )

    def _for_workers(self, part: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
        """In this process as they are; to workers they travel by way of the machine's memory."""
        return part if self.tensor_parallel == 1 else [(name, tensor.cpu()) for name, tensor in part]

    def _check_awake(self) -> None:
        if self._engine is None or not self._awake:
            raise RuntimeError("This engine is closed." if self._engine is None else "Wake the engine before it works.")

    def _check_idle(self) -> None:
        self._check_awake()
        if self._open:
            raise RuntimeError(f"{len(self._open)} requests are under way; finish or abort them first.")

    def _check_sleep(self) -> None:
        if not self.can_sleep:
            raise ModelError(
                "vLLM cannot sleep on a CPU: it has no memory there to give back.", remedy="Ask `can_sleep` first."
            )


def completion_of(output: Any) -> Completion:
    response = output.outputs[0]
    if response.finish_reason not in ("stop", "length"):
        raise ModelError(
            f"vLLM broke off a response after {len(response.token_ids)} tokens: {response.finish_reason}.",
            remedy="The engine's log says why; start the sampler anew.",
        )
    return Completion(
        key=output.request_id,
        ids=list(response.token_ids),
        logprobs=list(response.logprobs.logprobs),
        prompt_tokens=len(output.prompt_token_ids),
        cached_tokens=output.num_cached_tokens or 0,
    )


def _final_only() -> Any:
    from vllm.sampling_params import RequestOutputKind

    return RequestOutputKind.FINAL_ONLY
