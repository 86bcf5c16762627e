"""An episode played manually, replayed from its seed and responses after each move."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.config import EnvironmentConfig
from engine.play import EpisodeByHand
from engine.rollout.prompts import first_prompt, next_turn

LONGEST_LINE = 400  # responses; more than any budget of turns allows


def replay(config: EnvironmentConfig, seed: int, responses: list[str]) -> dict[str, Any]:
    """The whole episode so far: the prompts a model would get, the responses, and their outcomes."""
    episode = EpisodeByHand(config, seed, think=True)
    first = asdict(episode.situation())
    turns: list[dict[str, Any]] = []
    for response in responses[:LONGEST_LINE]:
        if episode.stop:
            break
        outcome = episode.play(response)
        now = episode.situation()
        answer = next_turn(
            now.observation,
            reward=outcome["reward"],
            actions_left=now.actions_left,
            valid=outcome["penalty"] == 0,
        )
        turns.append({"response": response, **outcome, "answer": "" if episode.stop else answer})
    now = episode.situation()
    episode.close()
    return {
        "prompt": first_prompt(config, think=True, seed=seed),
        "first": first,
        "turns": turns,
        "actions_per_turn": config.max_actions_per_turn,
        "now": asdict(now),
    }
