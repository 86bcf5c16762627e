"""A chat endpoint as a policy for `AgentProxy`: conversations in place of tokens, many at once.

An endpoint gives text and no token ids. So an id stands for a whole message here, and a trajectory's ids are its
conversation. Log-probabilities are unknown (0), which is why nothing is trained on these trajectories.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import EndpointError
from engine.policies.chat_answers import ChatResponse
from engine.policies.chat_endpoint import ChatEndpoint, GivenUp
from engine.rollout import prompts
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.prompts import Message
from engine.rollout.types import Response

# requests given up one after another, before the endpoint is: when it has never replied, and when it has
MOMENT = 0.05  # seconds
FAILURES_AT_FIRST, FAILURES_IN_A_ROW = 3, 8


class ChatContext(ContextManager):
    """Messages to ids and back. The model gets no opener; it has to write the whole response."""

    def __init__(self, *, think: bool) -> None:
        self.opener = prompts.opener(think=think)
        self.think = think
        self._messages: list[Message] = []

    def first(self, system: str, user: str) -> tuple[int, ...]:
        return self._add("system", system), self._add("user", user)

    def following(self, user: str, *, response: Sequence[int]) -> tuple[int, ...]:
        return (self._add("user", user),)

    def replied(self, response: ChatResponse) -> int:
        return self._add("assistant", whole_response(response, self.opener, think=self.think))

    def text(self, ids: list[int]) -> str:
        return "\n".join(f"{message['role']}: {message['content']}" for message in self.messages(ids))

    def response_text(self, ids: list[int]) -> str:
        return "".join(message["content"] for message in self.messages(ids))

    def says_nothing(self, ids: list[int]) -> bool:
        return not self.response_text(ids).strip()

    def messages(self, ids: Sequence[int]) -> list[Message]:
        return [self._messages[index] for index in ids]

    def _add(self, role: str, content: str) -> int:
        self._messages.append({"role": role, "content": content})
        return len(self._messages) - 1


def whole_response(response: ChatResponse, opener: str, *, think: bool) -> str:
    """The response as the grammar has it. Servers move a model's thought into a field of its own, or open the tag for it;
    nothing else is mended."""
    content = response.content
    if think and response.reasoning and opener not in content:
        return f"{opener}{response.reasoning}</think>{content.removeprefix('</think>')}"
    closer = opener.replace("<", "</")
    return opener + content if closer in content and opener not in content else content


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One row: what was said, and what it cost. Token sums are None once the endpoint left one out."""

    spec: EpisodeSpec
    messages: list[Message] = field(default_factory=list)
    requests: int = 0
    prompt_tokens: int | None = 0
    response_tokens: int | None = 0
    seconds: float = 0.0
    problem: str = ""
    stop: Literal["error", "context_full"] | None = None


class ChatSampler:
    """`ResponseSampler` over an endpoint, `concurrency` requests at once. A row that gets no response is left with its
    `problem`; `EndpointError` when it is the endpoint that fails."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        context: ChatContext,
        specs: list[EpisodeSpec],
        *,
        temperature: float,
        concurrency: int,
    ) -> None:
        self.endpoint, self.context, self.temperature = endpoint, context, temperature
        self.rows = [Conversation(spec=spec) for spec in specs]
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="chat")
        self._pending: dict[Future[tuple[ChatResponse, float]], int] = {}
        self._answered = False
        self._failures = 0

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        state = self.rows[row]
        state.messages += self.context.messages(ids)
        state.requests += 1
        spec = state.spec
        seed = zlib.crc32(f"{spec.seed} {spec.member} {state.requests}".encode()) >> 1  # below 2^31
        self._pending[self._pool.submit(self._ask, list(state.messages), max_tokens, seed)] = row

    def restart(self, row: int) -> None:
        self.rows[row].messages = []

    def advance(self, *, patient: bool = True) -> list[Response] | None:
        while self._pending:
            done, _ = wait(self._pending, timeout=None if patient else MOMENT, return_when=FIRST_COMPLETED)
            finished = sorted(((self._pending.pop(future), future) for future in done), key=lambda pair: pair[0])
            responses = [response for row, future in finished if (response := self._take(row, future)) is not None]
            if responses or not patient:
                return responses
        return [] if patient else None

    def release(self, row: int) -> None:
        pass

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, messages: list[Message], max_tokens: int, seed: int) -> tuple[ChatResponse, float]:
        began = time.monotonic()
        response = self.endpoint.complete(messages, max_tokens=max_tokens, temperature=self.temperature, seed=seed)
        return response, time.monotonic() - began

    def _take(self, row: int, future: Future[tuple[ChatResponse, float]]) -> Response | None:
        state = self.rows[row]
        try:
            response, seconds = future.result()
        except GivenUp as problem:
            state.problem, state.stop = str(problem), problem.kind
            self._count_failure(problem)
            return None
        self._answered, self._failures = True, 0
        state.seconds += seconds
        state.prompt_tokens = _plus(state.prompt_tokens, response.prompt_tokens)
        state.response_tokens = _plus(state.response_tokens, response.response_tokens)
        ids = [self.context.replied(response)]
        state.messages += self.context.messages(ids)
        return Response(row=row, ids=ids, logprobs=[0.0], entropies=None, ended=response.ended)

    def _count_failure(self, problem: GivenUp) -> None:
        """An endpoint that never answered, or no longer does, is given up as a whole."""
        if problem.kind == "context_full":
            return
        self._failures += 1
        if self._failures >= (FAILURES_IN_A_ROW if self._answered else FAILURES_AT_FIRST):
            raise EndpointError(
                f"The endpoint {self.endpoint.url} gives no responses. {problem}",
                remedy="See that it runs and serves this model; lower --concurrency if it asks to slow down.",
            ) from None


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more
