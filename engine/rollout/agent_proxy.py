"""AgentProxy: the turn loop, nothing more. Environments play, the policy replies, until every episode is over.

No trajectory waits for another: whoever has a reply steps its environment and asks for the next one at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.config import RolloutConfig
from engine.errors import ConfigError, EnvironmentFault, StarboardError
from engine.rollout import prompts
from engine.rollout.action_parser import ParsedReply, parse_reply
from engine.rollout.context_manager import ContextManager
from engine.rollout.context_windows import FullContext, Past, Prompt, State, Window, window_of
from engine.rollout.env_state_manager import Episode, EpisodeSpec, TurnOutcome
from engine.rollout.environment_crew import crew_of
from engine.rollout.overlong import LengthPenalty, any_length, length_penalty_of
from engine.rollout.types import Reply, Trajectory, Turn


class ReplySampler(Protocol):
    """A policy at work on many rows at once; a row is one trajectory."""

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        """Appends `ids` to the row's context and asks for a reply of at most `max_tokens`."""

    def restart(self, row: int) -> None:
        """Empties the row's context: the next `submit` begins another. Called between a reply and a `submit`."""

    def advance(self) -> list[Reply]:
        """Works until some rows have a reply; an empty list when no row awaits one."""

    def release(self, row: int) -> None:
        """Forgets the row: its trajectory is over."""


class AgentProxy:
    """`window` decides what the model sees of earlier turns; `max_context_tokens` is of one context, reply included."""

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
            window=window_of(config),
            length_penalty=length_penalty_of(config),
            environment_workers=config.environment_workers,
        )

    def rollout(
        self, sampler: ReplySampler, specs: list[EpisodeSpec], *, checkpoint: Callable[[], None] = lambda: None
    ) -> list[Trajectory]:
        """One trajectory per spec, in order. `checkpoint` is called between batches of work and may raise to stop.

        An environment that raises ends its own trajectory as a `fault`; when all of them do, the fault is raised. A
        first prompt that leaves no room for a reply ends its trajectory as `context_full`, without a turn; when no
        trajectory has a turn for want of room, a `ConfigError` says how much is needed.
        """
        players = self.players(specs)
        self.play(sampler, players, checkpoint=checkpoint)
        return [player.trajectory for player in players]

    def players(self, specs: list[EpisodeSpec]) -> list[Player]:
        return [Player(row, spec, self) for row, spec in enumerate(specs)]

    def play(
        self, sampler: ReplySampler, players: list[Player], *, checkpoint: Callable[[], None] = lambda: None
    ) -> None:
        """Until every episode is over; raises as `rollout` does."""
        if refusal := self.play_out(sampler, players, checkpoint=checkpoint):
            raise refusal

    def play_out(
        self, sampler: ReplySampler, players: list[Player], *, checkpoint: Callable[[], None] = lambda: None
    ) -> StarboardError | None:
        """Until every episode is over; why none of them says anything, if so it is."""
        for player in players:
            player.begin(sampler)
        with crew_of(self.environment_workers) as crew:
            while (replies := sampler.advance()) or crew.busy:
                for reply in replies:
                    crew.give(players[reply.row], reply)
                for player, answered, outcome in crew.take(patient=not replies):
                    player.follow(answered, outcome, sampler)
                checkpoint()
        faults = [player.fault for player in players if player.fault]
        return faults[0] if len(faults) == len(players) else self._nothing_fits(players)

    def _nothing_fits(self, players: list[Player]) -> ConfigError | None:
        if any(player.trajectory.turns or player.fault for player in players):
            return None
        shortest = min(players, key=lambda player: player.needed)
        return ConfigError(
            f"No first prompt of {shortest.trajectory.environment!r} leaves room for a reply: the shortest prompt and "
            f"a reply of {shortest.episode.config.max_reply_tokens} tokens make {shortest.needed}, and the limit, "
            f"rollout.max_context_tokens or the model's own, is {self.max_context_tokens}.",
            remedy=f"Raise rollout.max_context_tokens to {shortest.needed} or more, lower max_reply_tokens, or take a "
            "model with a longer context.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What became of a reply: the state that it answered, its text, and what its actions did."""

    state: State
    text: str
    outcome: TurnOutcome
    fault: EnvironmentFault | None = None


class Player:
    """One episode and its growing trajectory."""

    def __init__(self, row: int, spec: EpisodeSpec, proxy: AgentProxy) -> None:
        self.row = row
        self.proxy = proxy
        self.episode = Episode(spec)
        self.fault: EnvironmentFault | None = None
        self.prompt_start = 0
        self.needed = 0  # tokens of the context with the prompt that was asked last, and its longest reply
        self.system = ""
        self.past: list[Past] = []
        self.trajectory = Trajectory(
            environment=spec.environment.tag,
            kind=spec.environment.kind,
            group=spec.group,
            member=spec.member,
            seed=spec.seed,
        )

    def begin(self, sampler: ReplySampler) -> None:
        episode, trajectory = self.episode, self.trajectory
        try:
            trajectory.initial_observation = episode.reset()
            with episode.guarded("drawing, solution or describe"):
                trajectory.initial_drawing = episode.environment.drawing()
                solution = episode.environment.solution()
                self.system = prompts.system_prompt(episode.config, episode.environment, think=self.proxy.think)
        except EnvironmentFault as fault:
            self._end_by_fault(fault, sampler)
            return
        trajectory.optimal_length = len(solution) if solution is not None else None
        self._ask(sampler)

    def play(self, reply: Reply) -> Played:
        """Reads the reply and plays its actions. Of this player alone, so it may go on beside others' plays."""
        episode, state = self.episode, self._state()
        text = self.proxy.context.reply_text(reply.ids)
        parsed = parse_reply(text, think=self.proxy.think, max_actions=episode.config.max_actions_per_turn)
        if self.proxy.context.says_nothing(reply.ids):
            parsed = ParsedReply(thought="", actions=[], case="empty_reply")
        elif not reply.ended and not parsed.well_formed:
            parsed = ParsedReply(thought=parsed.thought, actions=[], case="cut_off")
        try:
            return Played(state=state, text=text, outcome=episode.play(parsed))
        except EnvironmentFault as fault:
            nothing = TurnOutcome(
                executed=[],
                frames=[],
                reward=0.0,
                penalty=0.0,
                understood=False,
                parsed=parsed,
                info={},
                stop="fault",
            )
            return Played(state=state, text=text, outcome=nothing, fault=fault)

    def follow(self, reply: Reply, played: Played, sampler: ReplySampler) -> None:
        """Records the turn, and asks for the next reply or ends."""
        trajectory, outcome = self.trajectory, played.outcome
        start = len(trajectory.ids)
        trajectory.append(reply.ids, logprobs=reply.logprobs, entropies=reply.entropies)
        self._record(start, played.text, outcome)
        if played.fault is not None:
            self._end_by_fault(played.fault, sampler)
            return
        trajectory.success = self.episode.success
        if outcome.stop is not None:
            trajectory.stop = outcome.stop
            sampler.release(self.row)
            return
        self.past.append(
            Past(
                state=played.state,
                reply=reply.ids,
                executed=outcome.executed,
                reward=outcome.reward,
                understood=outcome.understood,
            )
        )
        self._ask(sampler)

    def _state(self) -> State:
        return State(observation=self.episode.observation, actions_left=self.episode.actions_left)

    def _ask(self, sampler: ReplySampler) -> None:
        """Submits the next prompt, unless prompt and reply could pass the context limit."""
        trajectory = self.trajectory
        prompt = self.proxy.window.prompt(self.proxy.context, self.system, self.past, self._state())
        room = self.episode.config.max_reply_tokens
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

    def _record(self, start: int, text: str, outcome: TurnOutcome) -> None:
        trajectory = self.trajectory
        length_penalty = self.proxy.length_penalty(len(trajectory.ids) - start, self.episode.config.max_reply_tokens)
        trajectory.turns.append(
            Turn(
                context_start=trajectory.context_start,
                prompt_start=self.prompt_start,
                reply_start=start,
                reply_end=len(trajectory.ids),
                prompt=self.proxy.context.text(trajectory.ids[self.prompt_start : start]),
                reply=text,
                parsed=outcome.parsed,
                executed=outcome.executed,
                reward=outcome.reward,
                penalty=outcome.penalty + length_penalty,
                length_penalty=length_penalty,
                frames=outcome.frames,
                info=outcome.info,
            )
        )

    def _end_by_fault(self, fault: EnvironmentFault, sampler: ReplySampler) -> None:
        self.fault = fault
        self.trajectory.stop = "fault"
        self.trajectory.fault = str(fault)
        if self.trajectory.ids:
            sampler.release(self.row)
