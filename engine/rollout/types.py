"""The data types of a rollout: trajectory, turn, frame. No behaviour beyond sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from engine.rollout.action_parser import ParsedResponse
from engine.rollout.prompts import Message

StopReason = Literal["success", "terminated", "max_turns", "max_actions", "max_tokens", "context_full", "fault"]
Cut = Literal["", "turn", "trajectory"]


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
    given for this turn, `[response_start, response_end)` was sampled, and `[context_start, response_start)` is all that
    the model saw before it responded."""

    prompt_start: int
    response_start: int
    response_end: int
    prompt: str
    messages: list[Message]  # that the prompt was made from, without the header of the response
    response: str
    parsed: ParsedResponse
    executed: list[str]
    reward: float
    penalty: float  # for its format and its length
    frames: list[Frame]
    info: dict[str, Any] = field(default_factory=dict)
    length_penalty: float = 0.0  # the part of `penalty` for its length
    context_start: int = 0
    cut: Cut = ""  # the token limit that cut the response off: of one response, or of the trajectory


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """One episode as it was sampled: the exact token ids, which of them were sampled, and the outcome.

    `ids` are its contexts concatenated, and `context_starts` where each starts. Under the full context there is one.
    Under a window, a turn whose prompt does not continue the previous context starts a new one, which the model read on
    its own; so each sampled token is in exactly one context, after exactly the tokens it was conditioned on.

    `masked` are ranges `[start, end)` of sampled tokens that the model reads later but is not trained on.

    `logprobs` and `entropies` are in nats under the sampling distribution, 0 where nothing was sampled. If the sampler
    does not report entropies, `knows_entropies` is False and they are meaningless.
    """

    environment: str  # tag
    kind: str
    group: int
    member: int
    seed: int
    problem: int = 0  # hash of the problem (`engine.environments.problems`)
    ids: list[int] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    knows_entropies: bool = True
    context_starts: list[int] = field(default_factory=list)
    masked: list[tuple[int, int]] = field(default_factory=list)
    learner_logprobs: list[float] | None = None  # recomputed by the learner, if another program sampled
    turns: list[Turn] = field(default_factory=list)
    initial_observation: str = ""
    initial_drawing: dict[str, Any] = field(default_factory=dict)
    optimal_length: int | None = None
    stop: StopReason = "max_turns"
    success: bool = False
    fault: str = ""
    fault_kind: str = ""  # `EnvironmentFault.kind`
    close_fault: str = ""  # what went wrong when its environment was closed
    info_metrics: dict[str, float] = field(default_factory=dict)  # numbers of its environment's infos, reduced

    @property
    def raw_return(self) -> float:
        """Sum of the environment's rewards, which filters use."""
        return sum(turn.reward for turn in self.turns)

    @property
    def penalty(self) -> float:
        return sum(turn.penalty for turn in self.turns)

    @property
    def score(self) -> float:
        """Return plus penalties, from which advantages are computed."""
        return self.raw_return + self.penalty

    @property
    def has_outcome(self) -> bool:
        """Whether its return is meaningful: the environment did not fail, and there was room for a response."""
        return not self.fault and bool(self.turns)

    @property
    def response_tokens(self) -> int:
        return sum(self.sampled)

    @property
    def trained(self) -> list[int]:
        """Which tokens are trained on: the sampled ones that are not masked."""
        trained = list(self.sampled)
        for start, end in self.masked:
            trained[start:end] = [0] * (end - start)
        return trained

    @property
    def trained_tokens(self) -> int:
        return sum(self.trained) if self.masked else self.response_tokens

    @property
    def trained_entropy(self) -> float:
        """Sum of the entropies of the tokens that are trained on."""
        if not self.masked:
            return sum(self.entropies)
        return sum(entropy for entropy, on in zip(self.entropies, self.trained, strict=True) if on)

    @property
    def actions(self) -> int:
        return sum(len(turn.executed) for turn in self.turns)

    def begin_context(self) -> None:
        """Starts a new context with the next token."""
        self.context_starts.append(len(self.ids))

    @property
    def context_start(self) -> int:
        """Where the current context starts."""
        return self.context_starts[-1] if self.context_starts else 0

    def contexts(self) -> list[int]:
        """The number of each token's context, from 0."""
        ends = [*self.context_starts[1:], len(self.ids)]
        starts = [0, *self.context_starts[1:]]
        return [number for number, (start, end) in enumerate(zip(starts, ends, strict=True)) for _ in range(start, end)]

    def seen(self, turn: Turn) -> list[int]:
        """The context of the response of `turn`: all ids that the model had read."""
        return self.ids[turn.context_start : turn.response_start]

    def append(
        self, ids: list[int], *, logprobs: list[float] | None = None, entropies: list[float] | None = None
    ) -> None:
        """Appends given tokens, or sampled ones if they have `logprobs`, with `entropies` if they are known."""
        self.ids += ids
        self.sampled += [int(logprobs is not None)] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)
        self.entropies += entropies if entropies is not None else [0.0] * len(ids)
        self.knows_entropies &= logprobs is None or entropies is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a policy sampled for one turn of a trajectory. `ended` is False if the token limit cut it off. `entropies`
    is None if the policy does not report them."""

    row: int
    ids: list[int]
    logprobs: list[float]
    entropies: list[float] | None
    ended: bool
