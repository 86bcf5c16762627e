"""The nouns of a rollout: trajectory, turn, frame. Plain data; no behaviour beyond sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from engine.rollout.action_parser import ParsedResponse

StopReason = Literal["success", "terminated", "max_turns", "max_actions", "context_full", "fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One executed action and the state after it."""

    action: str
    reward: float
    effective: bool
    observation: str
    drawing: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Turn:
    """One prompt and one response. Token positions index the trajectory's `ids`: `[prompt_start, response_start)` was
    given for this turn, `[response_start, response_end)` was sampled, and `[context_start, response_start)` is all that the
    model saw before it replied."""

    prompt_start: int
    response_start: int
    response_end: int
    prompt: str
    response: str
    parsed: ParsedResponse
    executed: list[str]
    reward: float
    penalty: float  # of its format and its length
    frames: list[Frame]
    info: dict[str, Any] = field(default_factory=dict)
    length_penalty: float = 0.0  # the part of `penalty` that is of its length
    context_start: int = 0


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """One episode as it was sampled: the exact token ids, what was sampled of them, and what came of it.

    `ids` are its contexts one after the other, and `context_starts` where each begins. Under the full context there is
    one. Under a window a turn whose prompt does not go on from what the model saw before begins another, which the
    model read by itself; so each sampled token lies in exactly one context, after exactly the tokens it was sampled
    after.

    `logprobs` and `entropies` are natural-log values under the sampling distribution, 0 where nothing was sampled.
    Not every sampler tells entropies: where one did not, `knows_entropies` is False and they mean nothing.
    """

    environment: str  # tag
    kind: str
    group: int
    member: int
    seed: int
    ids: list[int] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    knows_entropies: bool = True
    context_starts: list[int] = field(default_factory=list)
    learner_logprobs: list[float] | None = None  # the learner's own of the same tokens, where another program sampled
    turns: list[Turn] = field(default_factory=list)
    initial_observation: str = ""
    initial_drawing: dict[str, Any] = field(default_factory=dict)
    optimal_length: int | None = None
    stop: StopReason = "max_turns"
    success: bool = False
    fault: str = ""

    @property
    def raw_return(self) -> float:
        """Sum of the environment's rewards: what filters read."""
        return sum(turn.reward for turn in self.turns)

    @property
    def penalty(self) -> float:
        return sum(turn.penalty for turn in self.turns)

    @property
    def score(self) -> float:
        """Return plus penalties: what advantages are made of."""
        return self.raw_return + self.penalty

    @property
    def has_outcome(self) -> bool:
        """Whether its return says anything: the environment did not fail, and there was room for a response."""
        return not self.fault and bool(self.turns)

    @property
    def response_tokens(self) -> int:
        return sum(self.sampled)

    @property
    def actions(self) -> int:
        return sum(len(turn.executed) for turn in self.turns)

    def begin_context(self) -> None:
        """What is appended from here on is read without anything before it."""
        self.context_starts.append(len(self.ids))

    @property
    def context_start(self) -> int:
        """Where the context that is open now begins."""
        return self.context_starts[-1] if self.context_starts else 0

    def contexts(self) -> list[int]:
        """For each token the number of its context, from 0."""
        ends = [*self.context_starts[1:], len(self.ids)]
        starts = [0, *self.context_starts[1:]]
        return [number for number, (start, end) in enumerate(zip(starts, ends, strict=True)) for _ in range(start, end)]

    def seen(self, turn: Turn) -> list[int]:
        """All ids that the model had read when it began the response of `turn`."""
        return self.ids[turn.context_start : turn.response_start]

    def append(
        self, ids: list[int], *, logprobs: list[float] | None = None, entropies: list[float] | None = None
    ) -> None:
        """Adds given tokens, or sampled ones when `logprobs` come with them, and `entropies` where they are known."""
        self.ids += ids
        self.sampled += [int(logprobs is not None)] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)
        self.entropies += entropies if entropies is not None else [0.0] * len(ids)
        self.knows_entropies &= logprobs is None or entropies is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a policy sampled for one trajectory's turn. `ended` is False when the token limit cut it off. `entropies` is
    None where the policy does not tell them."""

    row: int
    ids: list[int]
    logprobs: list[float]
    entropies: list[float] | None
    ended: bool
