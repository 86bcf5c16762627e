"""The single-player games of TextArena."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, step_info
from engine.environments.spaces import AnyText
from engine.environments.suites.installed import imported
from engine.environments.suites.plain_state import plain_state
from engine.environments.suites.randomness import Randomness
from engine.errors import ConfigError

EXTRA = "textarena"
PLAYER = 0
OF_AN_INVALID_ACTION = -1.0  # what it earns by default if it ends the game
NUMBERS = 20  # a random player's, where the text has no example of an action
_BRACKETED = re.compile(r"\[[^\[\]\n]{1,30}\]")


class TextArenaParameters(EnvironmentParameters):
    env_id: str = Field(
        "GuessTheNumber-v0",
        pattern=r"^[A-Za-z0-9_-]+-v\d+[A-Za-z0-9-]*$",
        max_length=100,
        description="Id of a single-player game, such as GuessTheNumber-v0, Mastermind-v0 or TowerOfHanoi-v0.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description='Arguments of the game, as JSON: {"max_number": 9}.'
    )
    success_reward: float = Field(
        1.0, description="Minimum reward that counts as success; many games give a share of 1."
    )


class TextArena(Environment):
    """A single-player game of TextArena.

    Description: One of 22 games that need nothing else, such as Mastermind, Minesweeper, TowerOfHanoi, LightsOut,
    Secretary and Sokoban, in several variants each. The package is an extra; it requires python-chess, which is under
    the GPL. Hangman, Wordle, WordLadder and WordSearch need word lists of NLTK, which they try to download, and games
    with a judge a key of a model service.

    Actions: Any text. Games read what is in square brackets, as in `[5]`; brackets are added to text without any.

    Observations: First the rules and the board, then what the game wrote since the action.

    Starting state: The global generators of `random` and NumPy, which the games draw from, are seeded with the seed for
    the reset and with the seed of chance after it, and are the environment's own while it runs. A problem is the state
    of the game's fields after the reset, so that hidden numbers count. A fifth of the problems is kept for evaluation.

    Rewards: 0, and at the end the game's, from -1 to 1.

    Episode end: When the game is over. By the games' own rule that is so after a second invalid action in a row.

    Arguments: `env_id`, `options`, `success_reward`.

    Differences from RAGEN: RAGEN has no such adapter.
    """

    kind: ClassVar[str] = "textarena"
    title: ClassVar[str] = "TextArena"
    summary: ClassVar[str] = "A single-player game of TextArena, such as Mastermind or the Towers of Hanoi."
    Config = TextArenaParameters
    needs: ClassVar[str] = f"the extra {EXTRA}"
    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "[action]"
    default_instruction: ClassVar[str] = "Play the game. Write each action in square brackets."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 10,
        "max_actions_per_turn": 1,
        "max_actions": 10,
        "max_response_tokens": 100,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    config: TextArenaParameters

    def __init__(self, config: TextArenaParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.randomness = Randomness()
        self.randomness.seed(0)
        with self.randomness.installed():
            self.game = _make(config)
        self.text = ""
        self.identity = ""
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        self.randomness.seed(seed)
        with self.randomness.installed():
            _start(self.game, self.config, seed)
        self.text, self.over = self._new_text() or "(empty)", False
        self.identity = f"{self.text}\n{json.dumps(plain_state(self.game))}"
        self.randomness.seed(int((options or {}).get("chance_seed", seed)), 1)
        return self.text, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over)
        errors_before = self.game.state.error_count
        with self.randomness.installed():
            done, _ = self.game.step(text if "[" in text or "]" in text else f"[{text}]")
        self.over, state = bool(done), self.game.state
        reward = self._reward() if self.over else 0.0
        self.text = self._new_text() or self._ending() or "(nothing new)"
        # the invalid action that ends a game is not counted with the others
        valid = state.error_count <= errors_before and not state.game_info[PLAYER]["invalid_move"]
        success = self.over and reward >= self.config.success_reward
        return self.text, reward, self.over, False, step_info(valid=valid, effective=valid, success=success)

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        return "Actions are text in square brackets. The reward comes at the end of the game."

    def render(self) -> str:
        return self.text

    def drawing(self) -> Drawing:
        return {"type": "text", "text": self.text}

    def problem(self) -> str:
        return self.identity

    def random_action(self, rng: np.random.Generator) -> str:
        """Something in brackets from the last text, or a number."""
        shown = _BRACKETED.findall(self.text)
        if shown and rng.random() < 0.5:
            return str(shown[int(rng.integers(len(shown)))])
        return f"[{rng.integers(1, NUMBERS + 1)}]"

    def _new_text(self) -> str:
        """What the game wrote to the player since this was last read, without the player's own actions, which some
        games record as a message that is no text."""
        _, messages = self.game.get_observation()
        texts = [text for _, text, kind in messages if isinstance(text, str) and kind.name != "PLAYER_ACTION"]
        return "\n".join(map(str.strip, texts)).strip()

    def _reward(self) -> float:
        """Of a game that is over. Some give a text instead, the reason, where an invalid action ended them."""
        reward = (self.game.state.rewards or {}).get(PLAYER, 0.0)
        return float(reward) if isinstance(reward, int | float | np.number) else OF_AN_INVALID_ACTION

    def _ending(self) -> str:
        return str(self.game.state.game_info[PLAYER].get("reason") or "") if self.over else ""


def _make(config: TextArenaParameters) -> Any:
    """The game without the package's wrappers, which format its text and actions as is done here."""
    library = imported("textarena", extra=EXTRA)
    try:
        game = library.make(config.env_id, **config.options)
        while isinstance(game, library.Wrapper):
            game = game.env
        return game
    except Exception as error:  # whatever a constructor raises
        raise _unusable(config, error) from error


def _start(game: Any, config: TextArenaParameters, seed: int) -> None:
    library = imported("textarena", extra=EXTRA)
    try:
        game.reset(num_players=1, seed=seed)
    except (AssertionError, ValueError, LookupError, OSError) as error:
        raise _unusable(config, error) from error
    if not isinstance(game.state, library.SinglePlayerState):
        raise _unusable(config, ValueError("it has several players"))


def _unusable(config: TextArenaParameters, error: Exception) -> ConfigError:
    reason = " ".join(str(error).replace("*", "").split())[:300] or type(error).__name__
    return ConfigError(
        f"{config.env_id} of TextArena cannot be played with {config.options}: {reason}",
        remedy="Use a single-player game and arguments that it accepts. For word lists of NLTK, run "
        "`python -m nltk.downloader words averaged_perceptron_tagger_eng` where there is a network, and set NLTK_DATA.",
    )
