"""A model in vLLM for the whole run: generates, loads the learner's weights, scores, sleeps.

Token ids in and out: vLLM has no tokenizer here. Its scheduler runs in this process, and so does the model unless
`tensor_parallel` requires workers. It sets up torch.distributed for itself, so a learner with process groups must run
in another process.
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
from engine.policies.vllm_weights import ExpectedWeights
from engine.policies.weight_checksums import WeightChecksum
from engine.rollout.stop_strings import StopStrings

PART_BYTES = 256 * 1024**2
DRAIN_STEPS = 8
WARM_UP = [0, 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The tokens generated for one prompt, including the stop token. `logprobs` are natural logarithms under the
    distribution that was sampled from."""

    key: str
    ids: list[int]
    logprobs: list[float]
    prompt_tokens: int
    cached_tokens: int  # prompt tokens found in the prefix cache
    at_stop_string: bool = False


class VllmEngine:
    """`path` as for `load_model`; `rows` responses are decoded at once, further ones are queued.

    `memory_share` is the share of one GPU's memory, weights included; on a CPU the largest share of main memory for the
    cache. `dtype` "auto" is bfloat16 on a GPU that supports it and float32 elsewhere; with float32, log-probabilities
    equal the learner's to four digits. `enforce_eager` None compiles graphs on a GPU but not on a CPU, where that takes
    a minute. `transfer` names one of vLLM's own weight transfers, in addition to `load_weights`, which always works.
    `ModelError` if vLLM is missing, does not fit torch, or cannot run the model in the available memory.
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
        self._submitted = 0
        self._open: set[str] = set()
        self._watched: dict[str, tuple[StopStrings, int]] = {}  # open requests with them, and the tokens looked at
        self._missing: set[str] = set()  # of the update in progress
        self._whole = True  # False after an incomplete update of the weights
        self._awake = True
        self._engine: Any = None
        try:
            self._expected = ExpectedWeights(config)
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
            self.score([WARM_UP])  # some missing requirements only show in a forward pass
        except Exception as error:
            self.close()
            raise refusal(path, error) from error

    def submit(
        self,
        ids: list[int],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        stop_ids: Iterable[int],
        stop_strings: StopStrings | None = None,
    ) -> str:
        """Requests at most `max_tokens` tokens after `ids`, up to the first of `stop_ids` or the token that completes
        one of `stop_strings`; returns the completion's key.

        `ConfigError` if they could exceed the context. `temperature` 0 is greedy.
        """
        from vllm import SamplingParams

        if not ids or max_tokens < 1 or len(ids) + max_tokens > self.context_tokens:
            raise ConfigError(
                f"A prompt of {len(ids)} tokens and a response of {max_tokens} make {len(ids) + max_tokens}, and the "
                f"sampler's context holds {self.context_tokens}; each must be at least 1.",
                remedy="Raise rollout.max_context_tokens, lower max_response_tokens, or use a model with a longer "
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
            output_kind=_output_kind("FINAL_ONLY" if stop_strings is None else "CUMULATIVE"),
        )
        key = self._add(ids, parameters)
        if stop_strings is not None:
            self._watched[key] = (stop_strings, 0)
        return key

    def step(self) -> list[Completion]:
        """One more token for every row; returns the completions that ended. Empty if no request is open."""
        if not self._watched:
            return [completion_of(output) for output in self._finished()]
        return [ended for output in self._outputs() if (ended := self._ended(output)) is not None]

    def abort(self, keys: Iterable[str] | None = None) -> None:
        """Cancels these requests, or all."""
        cancelled = self._open & set(keys) if keys is not None else set(self._open)
        if cancelled:
            self._open -= cancelled
            self._watched = {key: watched for key, watched in self._watched.items() if key in self._open}
            self._engine.abort_request(sorted(cancelled))

    @property
    def open_requests(self) -> int:
        """The number of requests without a completion."""
        return len(self._open)

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        """The log-probability of every token after the first of each sequence, at temperature 1, in nats.

        Computed under the current weights, bypassing the prefix cache. A sequence may have at most one token less than
        the context. Not while requests are open.
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
            output_kind=_output_kind("FINAL_ONLY"),
        )
        indices = {self._add(ids, parameters): index for index, ids in enumerate(sequences) if len(ids) > 1}
        scores: list[list[float]] = [[] for _ in sequences]
        while self._open:
            for output in self._finished():
                scores[indices[output.request_id]] = list(output.prompt_logprobs.logprobs)
        return scores

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Replaces all weights of the model, given under their Hugging Face names.

        Tied embeddings may be given once or under both names. The prefix cache is cleared. `ModelError` if a weight is
        missing, unknown or of the wrong shape; the engine then refuses requests until a later call is complete. Not
        while requests are open.
        """
        self._check_idle()
        self._whole = False
        self._engine.collective_rpc("begin_weights")
        try:
            for part in self._expected.parts(weights, part_bytes=PART_BYTES):
                self._engine.collective_rpc("load_part", args=(self._for_workers(part),))
        finally:
            self._engine.collective_rpc("end_weights")
        self._clear_prefix_cache()
        self._whole = True

    def join_transfer(self, link: dict[str, Any]) -> None:
        """Connects to the sender of `transfer` with the settings `link`; returns when the sender has connected too."""
        self._engine.collective_rpc("quiet_reload")
        self._engine.collective_rpc("init_weight_transfer_engine", kwargs={"init_info": link})

    def leave_transfer(self) -> None:
        """Disconnects, so that it can be joined again. Does nothing if it was not joined."""
        self._engine.collective_rpc("shutdown_weight_transfer_engine")

    def start_update(self) -> None:
        """Starts an update by `transfer`, which must bring all weights until `finish_update`. Not while requests are
        open."""
        self._check_idle()
        self._whole = False
        self._missing = set(self._expected.names)
        self._engine.collective_rpc("start_weight_update")

    def receive_update(self, part: dict[str, Any]) -> None:
        """Receives some weights. `part` is vLLM's update info: their names and shapes, and what the transfer needs.

        `ModelError` if one is unknown or of the wrong shape, before any is received.
        """
        for name, shape in zip(part["names"], part["shapes"], strict=True):
            self._expected.check(name, tuple(shape))
        self._engine.collective_rpc("update_weights", kwargs={"update_info": part})
        self._missing -= set(part["names"])

    def finish_update(self) -> None:
        """`ModelError` if weights are missing; the engine then refuses requests until an update is complete."""
        self._engine.collective_rpc("finish_weight_update")
        self._clear_prefix_cache()
        self._expected.check_complete(self._missing)
        self._whole = True

    def checksums(self) -> dict[str, WeightChecksum]:
        """Checksums of its weights. Empty with several workers, some of which hold the same ones."""
        if self.tensor_parallel > 1:
            return {}
        found: dict[str, WeightChecksum] = self._engine.collective_rpc("sum_weights")[0]
        return found

    def sleep(self) -> None:
        """Frees the GPU's memory until `wake`. Weights are moved to main memory; cached prefixes and open requests are
        dropped."""
        self._check_sleep()
        if not self._awake:
            return
        self.abort()
        self._clear_prefix_cache()
        self._engine.sleep(level=1)
        self._awake = False

    def wake(self) -> None:
        self._check_sleep()
        if not self._awake:
            self._engine.wake_up()
            self._awake = True

    def close(self) -> None:
        """Ends its workers and frees its memory. It cannot be opened again; closing twice does nothing."""
        if self._engine is None:
            return
        engine, self._engine = self._engine, None
        self._open.clear()
        engine.engine_core.shutdown()
        engine.renderer.shutdown()
        multiprocessing.active_children()  # reaps workers that have exited
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
                "The sampler holds weights of different versions, since its last update was incomplete.",
                remedy="Load all of the model's weights.",
            )
        self._submitted += 1
        key = str(self._submitted)
        self._engine.add_request(key, tokens_input(ids), parameters)
        self._open.add(key)
        return key

    def _finished(self) -> list[Any]:
        """vLLM's outputs of the requests that ended in one more step."""
        ended = [output for output in self._outputs() if output.finished]
        self._open -= {output.request_id for output in ended}
        return ended

    def _outputs(self) -> list[Any]:
        """vLLM's outputs of the open requests after one more step."""
        return [one for one in self._engine.step() if one.request_id in self._open] if self._open else []

    def _ended(self, output: Any) -> Completion | None:
        """The completion of a request that ended, by itself or at a stop string, where it is then aborted."""
        key, ids = output.request_id, output.outputs[0].token_ids
        strings, seen = self._watched[key]
        count = strings.first_end(ids, seen=seen)
        self._watched[key] = (strings, len(ids))
        if count is None and not output.finished:
            return None
        del self._watched[key]
        if output.finished:
            self._open.discard(key)
        else:
            self.abort([key])
        return completion_of(output, at_stop_string=count)

    def _clear_prefix_cache(self) -> None:
        """A batch in progress when its requests were aborted may hold blocks for another step or two."""
        for _ in range(DRAIN_STEPS):
            if self._engine.reset_prefix_cache():
                return
            self._engine.step()
        raise ModelError(
            "vLLM's prefix cache could not be cleared, so new weights would be mixed with results of the old ones.",
            remedy="Restart the sampler.",
        )

    def _for_workers(self, part: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
        """As they are in this process; through main memory to workers."""
        return part if self.tensor_parallel == 1 else [(name, tensor.cpu()) for name, tensor in part]

    def _check_awake(self) -> None:
        if self._engine is None or not self._awake:
            raise RuntimeError("This engine is closed." if self._engine is None else "Wake the engine first.")

    def _check_idle(self) -> None:
        self._check_awake()
        if self._open:
            raise RuntimeError(f"{len(self._open)} requests are open; finish or abort them first.")

    def _check_sleep(self) -> None:
        if not self.can_sleep:
            raise ModelError(
                "vLLM cannot sleep on a CPU: it has no GPU memory to free.", remedy="Check `can_sleep` first."
            )


def completion_of(output: Any, *, at_stop_string: int | None = None) -> Completion:
    """Of an output that ended, or its first `at_stop_string` tokens."""
    response = output.outputs[0]
    if at_stop_string is None and response.finish_reason not in ("stop", "length"):
        raise ModelError(
            f"vLLM ended a response after {len(response.token_ids)} tokens: {response.finish_reason}.",
            remedy="See the engine's log; restart the sampler.",
        )
    return Completion(
        key=output.request_id,
        ids=list(response.token_ids)[:at_stop_string],
        logprobs=list(response.logprobs.logprobs)[:at_stop_string],
        prompt_tokens=len(output.prompt_token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        at_stop_string=at_stop_string is not None,
    )


def _output_kind(name: str) -> Any:
    from vllm.sampling_params import RequestOutputKind

    return RequestOutputKind[name]
