"""The settings of the wrappers. They import the wrappers when they wrap, so that reading a configuration loads no
gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from engine.section import Section, union_variants

if TYPE_CHECKING:
    from engine.environments.base import Environment


class History(Section):
    """The last actions and their rewards in each observation, for context windows that drop earlier turns."""

    type: Literal["history"] = "history"
    actions: int = Field(3, ge=1, le=100, description="Number of last actions that each observation lists.")

    def wrap(self, environment: Environment) -> Environment:
        from engine.environments.wrappers.observations import WithHistory

        return WithHistory(environment, self)


class RewardShaping(Section):
    """Rewards scaled, clipped, and shaped by progress.

    Progress is a potential: the number of actions that a shortest solution still takes, with a minus sign. Adding its
    difference to the reward leaves the optimal policies what they are (Ng, Harada and Russell, ICML 1999).
    """

    type: Literal["reward_shaping"] = "reward_shaping"
    scale: float = Field(1.0, ge=-1000, le=1000, description="Factor that multiplies the environment's reward.")
    low: float = Field(-1e6, ge=-1e6, le=1e6, description="Least reward of an action, after scaling.")
    high: float = Field(1e6, ge=-1e6, le=1e6, description="Largest reward of an action, after scaling.")
    progress: float = Field(
        0.0,
        ge=0,
        le=100,
        description="Added for each action by which a shortest solution becomes shorter, and subtracted for each by "
        "which it becomes longer. 0 turns it off. Only for environments that know solutions.",
    )
    lost: int = Field(
        20,
        ge=1,
        le=10_000,
        description="progress: distance from success, in actions, of a state without a solution.",
    )

    def wrap(self, environment: Environment) -> Environment:
        from engine.environments.wrappers.rewards import WithRewardShaping

        return WithRewardShaping(environment, self)


class StepPenalty(Section):
    """A constant cost of every action, so that shorter solutions return more."""

    type: Literal["step_penalty"] = "step_penalty"
    penalty: float = Field(-0.01, ge=-100, le=0, description="Added to the reward of every action.")

    def wrap(self, environment: Environment) -> Environment:
        from engine.environments.wrappers.rewards import WithStepPenalty

        return WithStepPenalty(environment, self)


class ActionNoise(Section):
    """Actions that are replaced by random ones now and then, as in sticky or slippery variants of a task."""

    type: Literal["action_noise"] = "action_noise"
    probability: float = Field(0.1, ge=0, le=1, description="Chance that an action is replaced by a random one.")

    def wrap(self, environment: Environment) -> Environment:
        from engine.environments.wrappers.actions import WithActionNoise

        return WithActionNoise(environment, self)


class TimeLimit(Section):
    """An end after a number of actions, within the environment: the episode is truncated there."""

    type: Literal["time_limit"] = "time_limit"
    actions: int = Field(50, ge=1, le=100_000, description="Actions after which the episode is truncated.")

    def wrap(self, environment: Environment) -> Environment:
        from engine.environments.wrappers.actions import WithTimeLimit

        return WithTimeLimit(environment, self)


class ActionMask(Section):
    """Actions that are not available, by name."""

    type: Literal["action_mask"] = "action_mask"
    hidden: list[str] = Field(
        default_factory=list, max_length=100, description="Names of actions to take away, in any case."
    )

    def wrap(self, environment: Environment) -> Environment:
        from engine.environments.wrappers.actions import WithActionMask

        return WithActionMask(environment, self)


Layer = Annotated[
    History | RewardShaping | StepPenalty | ActionNoise | TimeLimit | ActionMask, Field(discriminator="type")
]
LAYERS = union_variants(Layer)
