"""The text of prompts: system prompt and turns. No tokens here, no torch.

Short on purpose, since every trajectory contains it. The meaning of symbols and actions comes from the environment, so
that configured symbols are described correctly. The bundled model was trained on these texts: changing one changes what
it can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.environments import environment_of

if TYPE_CHECKING:
    from engine.config import EnvironmentConfig
    from engine.environments.base import Environment

Message = dict[str, str]


def opener(*, think: bool) -> str:
    """The start of every response, given to the model, not sampled."""
    return "<think>" if think else "<answer>"


def system_prompt(config: EnvironmentConfig, environment: Environment, *, think: bool) -> str:
    thought = "<think>thought</think>" if think else ""
    form, limit = environment.answer_form, ""
    if environment.separator is not None:
        single = config.max_actions_per_turn == 1
        form = form if single else f"{form} {environment.separator} {form}"
        limit = " with 1 action" if single else f" with 1 to {config.max_actions_per_turn} actions"
    return f"{config.instruction}\n{environment.describe()}\nReply {thought}<answer>{form}</answer>{limit}."


def first_turn(observation: str, *, actions_left: int) -> str:
    return f"{observation}\n{_left(actions_left)}"


def next_turn(observation: str, *, reward: float, actions_left: int, valid: bool) -> str:
    """The user's message after a response: its reward, whether it was well-formed, and the current state."""
    warning = "" if valid else "Not understood.\n"
    return f"{warning}Reward {reward:g}\n{observation}\n{_left(actions_left)}"


def summary_turn(before: list[str], observation: str, *, actions_left: int) -> str:
    """The user's message with a summary of earlier turns; `before` has a `summary_line` for each."""
    now = first_turn(observation, actions_left=actions_left)
    return "\n".join(["Before:", *before, "Now:", now]) if before else now


def summary_line(observation: str, *, executed: list[str], reward: float, valid: bool) -> str:
    """One earlier turn: its state, the actions taken, and their reward."""
    done = ", ".join(executed) or "nothing"
    warning = "" if valid else " Not understood."
    return f"{observation}\nDone: {done}.{warning} Reward {reward:g}"


def first_prompt(config: EnvironmentConfig, *, think: bool, seed: int) -> list[Message]:
    """The messages of the first turn, exactly as a run with this configuration sends them."""
    environment = environment_of(config)
    observation, _ = environment.reset(seed=seed)
    return [
        {"role": "system", "content": system_prompt(config, environment, think=think)},
        {"role": "user", "content": first_turn(observation, actions_left=config.max_actions)},
    ]


def _left(actions: int) -> str:
    return f"{actions} left"
