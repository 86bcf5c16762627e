"""What may be written as the action of a what-if: names or suggestions of the state, and whether several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from engine.environments import environment_class
from engine.rollout.env_state_manager import chance_seed
from webapp.environments.calls import ask
from webapp.runs.models import Run

HINT_SECONDS = 2.0  # a page does not wait longer for names of actions
MOST_NAMES = 60
USUAL_SEPARATOR = "||"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """`actions` are all names there are; where actions are free text there are only `suggestions`, and `form` says what
    an answer is. Without a worker none of these is known. `most` actions may be in one response."""

    actions: Sequence[str] = ()
    suggestions: Sequence[str] = ()
    free: bool = False
    form: str = ""
    separator: str | None = USUAL_SEPARATOR
    most: int = 1

    @property
    def names(self) -> list[str]:
        return [*self.actions, *self.suggestions]

    @property
    def several(self) -> bool:
        return bool(self.separator) and self.most > 1

    @property
    def is_long_text(self) -> bool:
        """Whether the action is a text of its own, such as a program, rather than a name or a command."""
        return self.free and not self.separator and not self.suggestions

    def written(self, parsed: Sequence[str]) -> str:
        """Recorded actions as they are written in an answer."""
        return f" {self.separator or USUAL_SEPARATOR} ".join(parsed)


def hint_of(run: Run, record: Mapping[str, Any], turn: int) -> Hint:
    """For the start of the turn."""
    environments = run.config.get("environments", [])
    data = next((one for one in environments if one.get("tag") == record.get("environment")), None)
    try:
        config = EnvironmentConfig.model_validate(data)
    except ValueError:
        return Hint()
    usual = Hint(separator=environment_class(config.kind).separator, most=config.max_actions_per_turn)
    try:
        seed = int(record["seed"])
        executed = [name for earlier in record["turns"][:turn] for name in earlier["executed"]]
        chance = chance_seed(seed, int(record["member"]))
        found = ask("actions", config, seconds=HINT_SECONDS, seed=seed, chance_seed=chance, executed=executed)
    except (CallFailed, ValueError, KeyError, TypeError):
        return usual
    return Hint(
        actions=(found["actions"] or [])[:MOST_NAMES],
        suggestions=found["suggestions"][:MOST_NAMES],
        free=found["actions"] is None,
        form=found["answer_form"],
        separator=found["separator"],
        most=config.max_actions_per_turn,
    )
