"""AgentProxy: the turn loop, nothing more. Environments play, the policy responses, until every episode is over.

No trajectory waits for another: whoever has a response steps its environment and asks for the next one at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol

from engine.config import RolloutConfig
from engine.errors import ConfigError, EnvironmentFault, StarboardError
from engine.rollout.action_parser import ParsedResponse, parse_response
from engine.rollout.context_manager import ContextManager
from engine.rollout.context_windows import FullContext, Past, Prompt, State, Window
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_crew import Crew, crew_of
from engine.rollout.episode import Opening, TurnOutcome
from engine.rollout.overlong import LengthPenalty, any_length, length_penalty_of
from engine.rollout.types import Response, Trajectory, Turn


class ResponseSampler(Protocol):
    """A policy at work on many rows at once; a row is one trajectory."""

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        """Appends `ids` to the row's context and asks for a response of at most `max_tokens`."""

    def restart(self, row: int) -> None:
        """Empties the row's context: the next `submit` begins another. Called between a response and a `submit`."""

    def advance(self, *, patient: bool = True) -> list[Response] | None:
        """Works until some rows have a response; nothing when no row awaits one. Not `patient`, for a moment only: then
        an empty list is no response yet, and None that no row awaits one."""

    def release(self, row: int) -> None:
        """Forgets the row: its trajectory is over."""


class AgentProxy:
    """`window` decides what the model sees of earlier turns; `max_context_tokens` is of one context, response included."""

    def __init__(
        self,
        context: ContextManager,
        *,
        think: bool,
        max_context_tokens: int,
        window: Window | None = None,
        length_penalty: LengthPenalty = any_length,
        environment_workers: int = 0,
    ) -> None:
        self.context = context
        self.think = think
        self.max_context_tokens = max_context_tokens
        self.window = window or FullContext()
        self.length_penalty = length_penalty
        self.environment_workers = environment_workers

    @classmethod
    def of(cls, config: RolloutConfig, context: ContextManager, *, max_context_tokens: int) -> AgentProxy:
        """As `config` says, but for the limit of a context, which the model may set lower."""
        return cls(
            context,
            think=config.think,
            max_context_tokens=max_context_tokens,
            window=config.context,
            length_penalty=length_penalty_of(config),
            environment_workers=config.environment_workers,
        )

    def rollout(
        self, sampler: ResponseSampler, specs: list[EpisodeSpec], *, checkpoint: Callable[[], None] = lambda: None
    ) -> list[Trajectory]:
        """One trajectory per spec, in order. `checkpoint` is called between batches of work and may raise to stop.

        An environment that raises ends its own trajectory as a `fault`; when all of them do, the fault is raised. A
        first prompt that leaves no room for a response ends its trajectory as `context_full`, without a turn; when no
        trajectory has a turn for want of room, a `ConfigError` says how much is needed.
        """
        players = self.players(specs)
        self.play(sampler, players, checkpoint=checkpoint)
        return [player.trajectory for player in players]

    def players(self, specs: list[EpisodeSpec]) -> list[Player]:
        return [Player(row, spec, self) for row, spec in enumerate(specs)]

    def play(
        self,
        sampler: ResponseSampler,
        players: list[Player],
        *,
        checkpoint: Callable[[], None] = lambda: None,
        crew: Crew | None = None,
    ) -> None:
        """Until every episode is over; raises as `rollout` does."""
        if refusal := self.play_out(sampler, players, checkpoint=checkpoint, crew=crew):
            raise refusal

    def play_out(
        self,
        sampler: ResponseSampler,
        players: list[Player],
        *,
        checkpoint: Callable[[], None] = lambda: None,
        crew: Crew | None = None,
    ) -> StarboardError | None:
        """Until every episode is over; why none of them says anything, if so it is.

        `crew` plays the environments; without one they are played here, by `environment_workers`.
        """
        with nullcontext(crew) if crew is not None else crew_of(self.environment_workers) as at_work:
            self._play_by(at_work, sampler, players, checkpoint)
        faults = [player.fault for player in players if player.fault]
        return faults[0] if len(faults) == len(players) else self._nothing_fits(players)

    def _play_by(
        self, crew: Crew, sampler: ResponseSampler, players: list[Player], checkpoint: Callable[[], None]
    ) -> None:
        def follow(*, patient: bool) -> None:
            for row, answer in crew.take(patient=patient):
                players[row].follow(answer, sampler)
            checkpoint()

        for player in players:
            crew.open(player.row, player.spec, think=self.think)
        follow(patient=True)
        # whoever has stepped is not to wait until somebody else's response is whole
        while (responses := sampler.advance(patient=not crew.busy)) or crew.busy:
            for response in responses or []:
                crew.give(response.row, players[response.row].read(response))
            follow(patient=responses is None)

    def _nothing_fits(self, players: list[Player]) -> ConfigError | None:
        if any(player.trajectory.turns or player.fault for player in players):
            return None
        shortest = min(players, key=lambda player: player.needed)
        return ConfigError(
            f"No first prompt of {shortest.trajectory.environment!r} leaves room for a response: the shortest prompt and "
            f"a response of {shortest.config.max_response_tokens} tokens make {shortest.needed}, and the limit, "
            f"rollout.max_context_tokens or the model's own, is {self.max_context_tokens}.",
            remedy=f"Raise rollout.max_context_tokens to {shortest.needed} or more, lower max_response_tokens, or take a "
            "model with a longer context.",
        )


class Player:
    """One episode's growing trajectory. The episode itself is played by a crew, wherever that is."""

    def __init__(self, row: int, spec: EpisodeSpec, proxy: AgentProxy) -> None:
        self.row = row
        self.spec, self.config = spec, spec.environment
        self.proxy = proxy
        self.fault: EnvironmentFault | None = None
        self.prompt_start = 0
        self.needed = 0  # tokens of the context with the prompt that was asked last, and its longest response
        self.system = ""
        self.state = State(observation="", actions_left=self.config.max_actions)
        self.past: list[Past] = []
        self.response: Response  # the one that is being played, and its text
        self.text = ""
        self.trajectory = Trajectory(
            environment=spec.environment.tag,
            kind=spec.environment.kind,
            group=spec.group,
            member=spec.member,
            seed=spec.seed,
        )

    def read(self, response: Response) -> ParsedResponse:
        """What the response asks of the environment; `follow` is to be told what became of it."""
        self.response, self.text = response, self.proxy.context.response_text(response.ids)
        parsed = parse_response(self.text, think=self.proxy.think, max_actions=self.config.max_actions_per_turn)
        if self.proxy.context.says_nothing(response.ids):
            return ParsedResponse(thought="", actions=[], case="empty_response")
        if not response.ended and not parsed.well_formed:
            return ParsedResponse(thought=parsed.thought, actions=[], case="cut_off")
        return parsed

    def follow(self, answer: Opening | TurnOutcome, sampler: ResponseSampler) -> None:
        """Records what the environment answered, and asks for the next response or ends."""
        if isinstance(answer, Opening):
            self._begin(answer, sampler)
        else:
            self._go_on(answer, sampler)

    def _begin(self, opening: Opening, sampler: ResponseSampler) -> None:
        trajectory = self.trajectory
        trajectory.initial_observation = opening.observation
        trajectory.initial_drawing = opening.drawing
        trajectory.optimal_length = opening.optimal_length
        if opening.fault is not None:
            self._end_by_fault(opening.fault, sampler)
            return
        self.system = opening.system
        self.state = State(observation=opening.observation, actions_left=self.config.max_actions)
        self._ask(sampler)

    def _go_on(self, outcome: TurnOutcome, sampler: ResponseSampler) -> None:
        trajectory, response = self.trajectory, self.response
        start = len(trajectory.ids)
        trajectory.append(response.ids, logprobs=response.logprobs, entropies=response.entropies)
        self._record(start, outcome)
        if outcome.fault is not None:
            self._end_by_fault(outcome.fault, sampler)
            return
        trajectory.success = outcome.success
        if outcome.stop is not None:
            trajectory.stop = outcome.stop
            sampler.release(self.row)
            return
        self.past.append(
            Past(
                state=self.state,
                response=response.ids,
                executed=outcome.executed,
                reward=outcome.reward,
                understood=outcome.understood,
            )
        )
        self.state = State(observation=outcome.observation, actions_left=outcome.actions_left)
        self._ask(sampler)

    def _ask(self, sampler: ResponseSampler) -> None:
        """Submits the next prompt, unless prompt and response could pass the context limit."""
        trajectory = self.trajectory
        prompt = self.proxy.window.prompt(self.proxy.context, self.system, self.past, self.state)
        room = self.config.max_response_tokens
        self.needed = self._context_tokens(prompt) + len(prompt.ids) + room
        if self.needed > self.proxy.max_context_tokens:
            trajectory.stop = "context_full"
            if trajectory.turns:
                sampler.release(self.row)
            return
        if prompt.fresh:
            trajectory.begin_context()
            if trajectory.turns:
                sampler.restart(self.row)
        self.prompt_start = len(trajectory.ids)
        trajectory.append(prompt.ids)
        sampler.submit(self.row, prompt.ids, max_tokens=room)

    def _context_tokens(self, prompt: Prompt) -> int:
        """How many tokens `prompt` goes on from."""
        return 0 if prompt.fresh else len(self.trajectory.ids) - self.trajectory.context_start

    def _record(self, start: int, outcome: TurnOutcome) -> None:
        trajectory = self.trajectory
        length_penalty = self.proxy.length_penalty(len(trajectory.ids) - start, self.config.max_response_tokens)
        trajectory.turns.append(
            Turn(
                context_start=trajectory.context_start,
                prompt_start=self.prompt_start,
                response_start=start,
                response_end=len(trajectory.ids),
                prompt=self.proxy.context.text(trajectory.ids[self.prompt_start : start]),
                response=self.text,
                parsed=outcome.parsed,
                executed=outcome.executed,
                reward=outcome.reward,
                penalty=outcome.penalty + length_penalty,
                length_penalty=length_penalty,
                frames=outcome.frames,
                info=outcome.info,
            )
        )

    def _end_by_fault(self, fault: EnvironmentFault, sampler: ResponseSampler) -> None:
        self.fault = fault
        self.trajectory.stop = "fault"
        self.trajectory.fault = str(fault)
        if self.trajectory.ids:
            sampler.release(self.row)
