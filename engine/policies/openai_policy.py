"""A chat endpoint as a policy for `AgentProxy`: messages instead of tokens, many conversations at once.

An endpoint returns text and no token ids. Here an id stands for a whole message, and a trajectory's ids are its
conversation. Log-probabilities are unknown (0), so these trajectories are never trained on.
"""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import EndpointError
from engine.policies.chat_completions import ChatResponse
from engine.policies.chat_endpoint import ChatEndpoint, RequestFailed
from engine.policies.truncation import NO_TRUNCATION, Truncation
from engine.rollout import prompts
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.prompts import Message
from engine.rollout.stop_strings import StopStrings
from engine.rollout.types import Response

POLL_SECONDS = 0.05
# failed requests in a row after which the endpoint counts as failed: before its first response, and after it
FAILURES_AT_FIRST, FAILURES_IN_A_ROW = 3, 8


class ChatContext(ContextManager):
    """Messages to ids and back. The model gets no opener; it writes the whole response."""

    def __init__(self, *, think: bool, stop_strings: Sequence[str] = ()) -> None:
        self.opener = prompts.opener(think=think)
        if stop_strings:
            self.stop_strings = StopStrings(stop_strings, self.text)
        self.think = think
        self._messages: list[Message] = []

    def first(self, system: str, user: str) -> tuple[int, ...]:
        return self._add("system", system), self._add("user", user)

    def conversation(self, messages: Sequence[Message]) -> tuple[int, ...]:
        return tuple(self._add(message["role"], message["content"]) for message in messages)

    def following(self, user: str, *, response: Sequence[int]) -> tuple[int, ...]:
        return (self._add("user", user),)

    def add_response(self, response: ChatResponse) -> int:
        """The message up to the first stop string; endpoints would leave that string out."""
        text = whole_response(response, self.opener, think=self.think)
        return self._add("assistant", self.stop_strings.cut(text) if self.stop_strings else text)

    def text(self, ids: list[int]) -> str:
        return "\n".join(f"{message['role']}: {message['content']}" for message in self.messages(ids))

    def response_text(self, ids: list[int]) -> str:
        return "".join(message["content"] for message in self.messages(ids))

    def is_blank(self, ids: list[int]) -> bool:
        return not self.response_text(ids).strip()

    def messages(self, ids: Sequence[int]) -> list[Message]:
        return [self._messages[index] for index in ids]

    def _add(self, role: str, content: str) -> int:
        self._messages.append({"role": role, "content": content})
        return len(self._messages) - 1


def whole_response(response: ChatResponse, opener: str, *, think: bool) -> str:
    """The response in the expected format. Servers may move a model's thought into a separate field, or drop the
    opening tag; nothing else is corrected."""
    content = response.content
    if think and response.reasoning and opener not in content:
        return f"{opener}{response.reasoning}</think>{content.removeprefix('</think>')}"
    closer = opener.replace("<", "</")
    return opener + content if closer in content and opener not in content else content


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One row: its messages and their cost. Token sums are None once the endpoint omitted a count."""

    spec: EpisodeSpec
    messages: list[Message] = field(default_factory=list)
    requests: int = 0
    prompt_tokens: int | None = 0
    response_tokens: int | None = 0
    seconds: float = 0.0
    problem: str = ""
    stop: Literal["error", "context_full"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    row: int
    messages: list[Message]
    max_tokens: int
    seed: int


class ChatSampler:
    """`ResponseSampler` for an endpoint, with `concurrency` requests at once. A row without a response keeps its
    `problem`; `EndpointError` if the endpoint as a whole fails."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        context: ChatContext,
        specs: list[EpisodeSpec],
        *,
        temperature: float,
        concurrency: int,
        truncation: Truncation = NO_TRUNCATION,
    ) -> None:
        self.endpoint, self.context = endpoint, context
        self.temperature, self.truncation = temperature, truncation
        self.rows = [Conversation(spec=spec) for spec in specs]
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="chat")
        self._concurrency = concurrency
        self._begun: deque[Request] = deque()  # of conversations that go on, which come first
        self._fresh: deque[Request] = deque()
        self._pending: dict[Future[tuple[ChatResponse, float]], int] = {}
        self._open: set[int] = set()  # conversations that have begun and are not over
        self._fatal: EndpointError | None = None
        self._responded = False
        self._failures = 0

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        state = self.rows[row]
        state.messages += self.context.messages(ids)
        state.requests += 1
        spec = state.spec
        seed = zlib.crc32(f"{spec.seed} {spec.member} {state.requests}".encode()) >> 1  # below 2^31
        request = Request(row=row, messages=list(state.messages), max_tokens=max_tokens, seed=seed)
        (self._begun if state.requests > 1 else self._fresh).append(request)

    def restart(self, row: int) -> None:
        self.rows[row].messages = []

    def advance(self, *, block: bool = True) -> list[Response] | None:
        while self._send(block=block):
            done, _ = wait(self._pending, timeout=None if block else POLL_SECONDS, return_when=FIRST_COMPLETED)
            finished = sorted(((self._pending.pop(future), future) for future in done), key=lambda pair: pair[0])
            responses = [response for row, future in finished if (response := self._taken(row, future)) is not None]
            if responses or not block:
                return responses
        return [] if block else None

    def release(self, row: int) -> None:
        self._open.discard(row)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _send(self, *, block: bool) -> int:
        """Sends what may be sent, and returns how many requests are in progress. A conversation begins when another one
        is over, so that they end one after another and not all at the end."""
        if self._fatal is not None:
            raise self._fatal
        idle = block and not self._pending and not self._begun  # no environment steps, so none of the open goes on
        while self._fresh and (idle or len(self._open) < self._concurrency):
            request, idle = self._fresh.popleft(), False
            self._open.add(request.row)
            self._begun.append(request)
        while self._begun and len(self._pending) < self._concurrency:
            request = self._begun.popleft()
            self._pending[self._pool.submit(self._answer, request)] = request.row
        return len(self._pending)

    def _answer(self, request: Request) -> tuple[ChatResponse, float]:
        started = time.monotonic()
        response = self.endpoint.complete(
            request.messages,
            max_tokens=request.max_tokens,
            temperature=self.temperature,
            truncation=self.truncation,
            seed=request.seed,
        )
        return response, time.monotonic() - started

    def _taken(self, row: int, future: Future[tuple[ChatResponse, float]]) -> Response | None:
        """None without a response. A failure of the endpoint is raised after what other rows have received is taken."""
        try:
            return self._take(row, future)
        except EndpointError as error:
            self._fatal = self._fatal or error
            return None

    def _take(self, row: int, future: Future[tuple[ChatResponse, float]]) -> Response | None:
        state = self.rows[row]
        try:
            response, seconds = future.result()
        except RequestFailed as problem:
            state.problem, state.stop = str(problem), problem.kind
            self._open.discard(row)
            self._count_failure(problem)
            return None
        self._responded, self._failures = True, 0
        state.seconds += seconds
        state.prompt_tokens = _plus(state.prompt_tokens, response.prompt_tokens)
        state.response_tokens = _plus(state.response_tokens, response.response_tokens)
        ids = [self.context.add_response(response)]
        state.messages += self.context.messages(ids)
        return Response(row=row, ids=ids, logprobs=[0.0], entropies=None, ended=response.ended or self._is_cut(ids))

    def _is_cut(self, ids: list[int]) -> bool:
        strings = self.context.stop_strings
        return strings is not None and strings.cut(self.context.response_text(ids)).endswith(strings.strings)

    def _count_failure(self, problem: RequestFailed) -> None:
        """Raises once an endpoint has never responded, or no longer does."""
        if problem.kind == "context_full":
            return
        self._failures += 1
        if self._failures >= (FAILURES_IN_A_ROW if self._responded else FAILURES_AT_FIRST):
            raise EndpointError(
                f"The endpoint {self.endpoint.url} does not respond. {problem}",
                remedy="Check that it is running and serves this model; send fewer requests at once if it limits them.",
            ) from None


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more
