"""AgentProxy: the turn loop. Environments step and the policy responds until every episode is over.

Trajectories do not wait for each other: one that has a response steps its environment and requests the next at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol

from engine.config import RolloutConfig
from engine.errors import ConfigError, EnvironmentFault, EnvironmentUnavailable, StarboardError
from engine.rollout.action_parser import ParsedResponse, parse_response
from engine.rollout.context_manager import ContextManager
from engine.rollout.context_windows import FullContext, Past, Prompt, State, Window
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_pool import EnvironmentPool, Result, local_environments
from engine.rollout.episode import Closed, EpisodeStart, TurnOutcome
from engine.rollout.masking import tokens_within
from engine.rollout.overlong import LengthPenalty, length_penalty_of, no_penalty
from engine.rollout.prompts import Message
from engine.rollout.types import Cut, Response, StopReason, Trajectory, Turn


class ResponseSampler(Protocol):
    """A policy that generates for many rows at once; a row is one trajectory."""

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        """Appends `ids` to the row's context and requests a response of at most `max_tokens`."""

    def restart(self, row: int) -> None:
        """Empties the row's context: the next `submit` starts a new one. Called between a response and a `submit`."""

    def advance(self, *, block: bool = True) -> list[Response] | None:
        """Generates until some rows have a response; an empty list when no row awaits one. Without `block` it returns
        after one step: an empty list then means no response yet, and None that no row awaits one."""

    def release(self, row: int) -> None:
        """Frees the row: its trajectory is over."""


class AgentProxy:
    """`window` decides what the model sees of earlier turns; `max_context_tokens` limits a context with its response,
    and `max_trajectory_tokens`, unless it is 0, what is sampled in all turns."""

    def __init__(
        self,
        context: ContextManager,
        *,
        think: bool,
        max_context_tokens: int,
        max_trajectory_tokens: int = 0,
        window: Window | None = None,
        length_penalty: LengthPenalty = no_penalty,
        environment_workers: int = 0,
    ) -> None:
        self.context = context
        self.think = think
        self.max_context_tokens = max_context_tokens
        self.max_trajectory_tokens = max_trajectory_tokens
        self.window = window or FullContext()
        self.length_penalty = length_penalty
        self.environment_workers = environment_workers

    @classmethod
    def of(cls, config: RolloutConfig, context: ContextManager, *, max_context_tokens: int) -> AgentProxy:
        """As configured, except for the context limit, which may be lower for the model."""
        return cls(
            context,
            think=config.think,
            max_context_tokens=max_context_tokens,
            max_trajectory_tokens=config.max_trajectory_tokens,
            window=config.context,
            length_penalty=length_penalty_of(config),
            environment_workers=config.environment_workers,
        )

    def rollout(
        self, sampler: ResponseSampler, specs: list[EpisodeSpec], *, check_cancelled: Callable[[], None] = lambda: None
    ) -> list[Trajectory]:
        """One trajectory per spec, in order. `check_cancelled` is called between steps and raises to cancel.

        An environment that raises or hangs ends its own trajectory as a `fault`; when all of them do, the most frequent
        fault is raised, and `EnvironmentUnavailable` at once. A first prompt that leaves no room for a response ends
        its trajectory as `context_full`, without a turn; when no trajectory had room for a turn, a `ConfigError` states
        how many tokens are needed.
        """
        players = self.players(specs)
        self.play(sampler, players, check_cancelled=check_cancelled)
        return [player.trajectory for player in players]

    def players(self, specs: list[EpisodeSpec]) -> list[Player]:
        return [Player(row, spec, self) for row, spec in enumerate(specs)]

    def play(
        self,
        sampler: ResponseSampler,
        players: list[Player],
        *,
        check_cancelled: Callable[[], None] = lambda: None,
        environments: EnvironmentPool | None = None,
    ) -> None:
        """Plays until every episode is over; raises as `rollout` does."""
        if refusal := self.play_out(sampler, players, check_cancelled=check_cancelled, environments=environments):
            raise refusal

    def play_out(
        self,
        sampler: ResponseSampler,
        players: list[Player],
        *,
        check_cancelled: Callable[[], None] = lambda: None,
        environments: EnvironmentPool | None = None,
    ) -> StarboardError | None:
        """Plays until every episode is over; returns an error if no trajectory is usable.

        Environments run in the given pool, or else in this process with `environment_workers` threads.
        """
        local = local_environments(self.environment_workers, check_cancelled)
        with nullcontext(environments) if environments is not None else local as pool:
            self._play_in(pool, sampler, players, check_cancelled)
        faults = [player.fault for player in players if player.fault]
        return most_frequent(faults) if len(faults) == len(players) else self._no_room(players)

    def _play_in(
        self,
        pool: EnvironmentPool,
        sampler: ResponseSampler,
        players: list[Player],
        check_cancelled: Callable[[], None],
    ) -> None:
        def collect(*, block: bool) -> None:
            for row, result in pool.collect(block=block):
                players[row].record(result, sampler)
                if players[row].has_no_room:
                    players[row].has_no_room = False
                    pool.close(row)
            check_cancelled()

        for player in players:
            pool.start(player.row, player.spec, think=self.think)
        collect(block=True)
        # a row that has stepped must not wait until another row's response is complete
        while (responses := sampler.advance(block=not pool.pending)) or pool.pending:
            for response in responses or []:
                pool.step(response.row, players[response.row].parse(response))
            collect(block=responses is None)

    def _no_room(self, players: list[Player]) -> ConfigError | None:
        if any(player.trajectory.turns or player.fault for player in players):
            return None
        shortest = min(players, key=lambda player: player.needed)
        return ConfigError(
            f"No first prompt of {shortest.trajectory.environment!r} leaves room for a response: the shortest "
            f"prompt and a response of {shortest.config.max_response_tokens} tokens need {shortest.needed}, and the "
            f"limit, rollout.max_context_tokens or the model's own, is {self.max_context_tokens}.",
            remedy=f"Raise rollout.max_context_tokens to {shortest.needed} or more, lower max_response_tokens, or use "
            "a model with a longer context.",
        )


def most_frequent(faults: list[EnvironmentFault]) -> EnvironmentFault:
    """The first of the kind that is most frequent."""
    kind, _ = Counter(fault.kind for fault in faults).most_common(1)[0]
    return next(fault for fault in faults if fault.kind == kind)


class Player:
    """Builds the trajectory of one episode. The episode itself runs in an environment pool."""

    def __init__(self, row: int, spec: EpisodeSpec, proxy: AgentProxy) -> None:
        self.row = row
        self.spec, self.config = spec, spec.environment
        self.proxy = proxy
        self.fault: EnvironmentFault | None = None
        self.has_no_room = False  # its context is full, and its environment is still open
        self.prompt_start = 0
        self.room = 0  # tokens that the current response may have
        self.needed = 0  # context tokens of the last prompt and its longest possible response
        self.system = ""
        self.separator: str | None = None
        self.state = State(observation="", actions_left=self.config.max_actions)
        self.past: list[Past] = []
        self.messages: list[Message] = []  # of the current prompt
        self.response: Response  # the current one, with its text
        self.text = ""
        self.trajectory = Trajectory(
            environment=spec.environment.tag,
            kind=spec.environment.kind,
            group=spec.group,
            member=spec.member,
            seed=spec.seed,
        )

    def parse(self, response: Response) -> ParsedResponse:
        """The actions of a response; `record` is called with their result."""
        self.response, self.text = response, self.proxy.context.response_text(response.ids)
        parsed = parse_response(
            self.text,
            think=self.proxy.think,
            max_actions=self.config.max_actions_per_turn,
            separator=self.separator,
        )
        if self.proxy.context.is_blank(response.ids):
            return ParsedResponse(thought="", actions=[], case="empty_response")
        if not response.ended and not parsed.well_formed:
            return ParsedResponse(thought=parsed.thought, actions=[], case="cut_off")
        return parsed

    def record(self, result: Result, sampler: ResponseSampler) -> None:
        """Records the environment's result, and requests the next response unless the episode is over."""
        self.trajectory.close_fault = self.trajectory.close_fault or result.close_fault
        if isinstance(result, Closed):
            return
        if isinstance(result, EpisodeStart):
            self._record_start(result, sampler)
        else:
            self._record_outcome(result, sampler)

    def _record_start(self, start: EpisodeStart, sampler: ResponseSampler) -> None:
        trajectory = self.trajectory
        trajectory.initial_observation = start.observation
        trajectory.initial_drawing = start.drawing
        trajectory.optimal_length = start.optimal_length
        if start.fault is not None:
            self._end_with_fault(start.fault, sampler)
            return
        trajectory.seed, trajectory.problem = start.seed, start.problem
        self.system, self.separator = start.system, start.separator
        self.state = State(observation=start.observation, actions_left=self.config.max_actions)
        self._request_response(sampler)

    def _record_outcome(self, outcome: TurnOutcome, sampler: ResponseSampler) -> None:
        trajectory, response = self.trajectory, self.response
        response_start = len(trajectory.ids)
        if self.config.surplus_actions == "mask":
            self._mask_surplus(outcome.parsed)
        trajectory.append(response.ids, logprobs=response.logprobs, entropies=response.entropies)
        self._append_turn(response_start, outcome)
        if outcome.fault is not None:
            self._end_with_fault(outcome.fault, sampler)
            return
        trajectory.success, trajectory.info_metrics = outcome.success, outcome.info_metrics
        if outcome.stop is not None:
            trajectory.stop = outcome.stop
            sampler.release(self.row)
            return
        self.past.append(
            Past(
                state=self.state,
                response=response.ids,
                text=self.text,
                executed=outcome.executed,
                reward=outcome.reward,
                valid=outcome.valid,
            )
        )
        self.state = State(observation=outcome.observation, actions_left=outcome.actions_left)
        self._request_response(sampler)

    def _mask_surplus(self, parsed: ParsedResponse) -> None:
        """Masks the tokens of the current response that spell surplus actions. Called before it is appended."""
        if parsed.surplus_span is None:
            return
        found = tokens_within(self.proxy.context, self.response.ids, parsed.surplus_span)
        if found:
            start = len(self.trajectory.ids)
            self.trajectory.masked.append((start + found.start, start + found.stop))

    def _request_response(self, sampler: ResponseSampler) -> None:
        """Submits the next prompt, unless prompt and response could exceed the context limit, or no tokens are left."""
        trajectory = self.trajectory
        self.room = self._tokens_left()
        if not self.room:
            self._end_without_room("max_tokens", sampler)
            return
        prompt = self.proxy.window.prompt(self.proxy.context, self.system, self.past, self.state)
        self.needed = self._context_tokens(prompt) + len(prompt.ids) + self.room
        if self.needed > self.proxy.max_context_tokens:
            self._end_without_room("context_full", sampler)
            return
        if prompt.fresh:
            trajectory.begin_context()
            if trajectory.turns:
                sampler.restart(self.row)
        self.prompt_start, self.messages = len(trajectory.ids), prompt.messages
        trajectory.append(prompt.ids)
        sampler.submit(self.row, prompt.ids, max_tokens=self.room)

    def _tokens_left(self) -> int:
        """How many the next response may have: of its own limit, or of what the trajectory has left."""
        most, limit = self.config.max_response_tokens, self.proxy.max_trajectory_tokens
        return min(most, limit - self.trajectory.response_tokens) if limit else most

    def _end_without_room(self, reason: StopReason, sampler: ResponseSampler) -> None:
        self.trajectory.stop = reason
        self.has_no_room = True
        if self.trajectory.turns:
            sampler.release(self.row)

    def _context_tokens(self, prompt: Prompt) -> int:
        """How many tokens the context already has before `prompt`."""
        return 0 if prompt.fresh else len(self.trajectory.ids) - self.trajectory.context_start

    def _append_turn(self, start: int, outcome: TurnOutcome) -> None:
        trajectory = self.trajectory
        length_penalty = self.proxy.length_penalty(len(trajectory.ids) - start, self.config.max_response_tokens)
        trajectory.turns.append(
            Turn(
                context_start=trajectory.context_start,
                prompt_start=self.prompt_start,
                response_start=start,
                response_end=len(trajectory.ids),
                prompt=self.proxy.context.text(trajectory.ids[self.prompt_start : start]),
                messages=self.messages,
                response=self.text,
                parsed=outcome.parsed,
                executed=outcome.executed,
                reward=outcome.reward,
                penalty=outcome.penalty + length_penalty,
                length_penalty=length_penalty,
                frames=outcome.frames,
                info=outcome.info,
                cut=self._cut(),
            )
        )

    def _cut(self) -> Cut:
        if self.response.ended:
            return ""
        return "turn" if self.room == self.config.max_response_tokens else "trajectory"

    def _end_with_fault(self, fault: EnvironmentFault, sampler: ResponseSampler) -> None:
        self.fault = fault
        self.trajectory.stop = "fault"
        self.trajectory.fault, self.trajectory.fault_kind = str(fault), fault.kind
        if self.trajectory.ids:
            sampler.release(self.row)
        if isinstance(fault, EnvironmentUnavailable):
            raise fault
