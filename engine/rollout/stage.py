"""Stage: the episodes that are under way in one place. Those of different keys may be played at the same time."""

from __future__ import annotations

from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.episode import Episode, Opening, TurnOutcome


class Stage:
    """A key is a trajectory's row. An episode leaves when it is over."""

    def __init__(self) -> None:
        self.episodes: dict[int, Episode] = {}

    def open(self, row: int, spec: EpisodeSpec, *, think: bool) -> Opening:
        episode = Episode(spec)
        opening = episode.open(think=think)
        if opening.fault is None:
            self.episodes[row] = episode
        return opening

    def play(self, row: int, parsed: ParsedResponse) -> TurnOutcome:
        outcome = self.episodes[row].answer(parsed)
        if outcome.stop is not None:
            del self.episodes[row]
        return outcome
