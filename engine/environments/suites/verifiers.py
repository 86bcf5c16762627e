"""Task sets of verifiers."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from engine.environments.base import EnvironmentParameters
from engine.environments.loading import loaded_once
from engine.environments.suites.installed import imported
from engine.environments.suites.randomness import Randomness
from engine.environments.suites.single_turn import SingleTurn
from engine.errors import ConfigError

EXTRA = "verifiers"


class VerifiersParameters(EnvironmentParameters):
    taskset: str = Field(
        "",
        pattern=r"^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_.-]*$",
        max_length=200,
        description="Id of an installed task set: the name of its package, with or without its owner.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description='Fields of the task set\'s configuration, as JSON: {"split": "train"}.'
    )
    most_tasks: int = Field(10_000, ge=2, le=1_000_000, description="Tasks to read from the task set, from its start.")
    success_reward: float = Field(1.0, description="Minimum reward that counts as success.")


class Verifiers(SingleTurn):
    """A task set of verifiers whose tasks have one response.

    Description: Any installed package that exports a `Taskset` of `verifiers.v1`, as those of the Environments Hub do.
    Tasks that need tools, a judge, a container or an `Env` of their own are refused, and so are packages with the older
    `load_environment`. The package is an extra, and so is each task set.

    Actions: Any text; all of the model's answer becomes the assistant's message.

    Observations: The task's system prompt, if it has one, and its prompt. Images are left out.

    Starting state: The seed chooses a task. A fifth of the prompts is kept for evaluation.

    Rewards: The weighted sum of the task's rewards.

    Episode end: After one response.

    Arguments: `taskset`, `options`, `most_tasks`, `success_reward`.

    Differences from RAGEN: RAGEN has no such adapter.
    """

    kind: ClassVar[str] = "verifiers"
    title: ClassVar[str] = "verifiers"
    summary: ClassVar[str] = "A task set of verifiers, scored by its own rewards."
    Config = VerifiersParameters
    needs: ClassVar[str] = f"the extra {EXTRA}, and a package with a task set"
    restricted: ClassVar[str] = "The package that it names is imported, so its code runs on the workers."
    default_instruction: ClassVar[str] = "Do the task."
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    config: VerifiersParameters

    def __init__(self, config: VerifiersParameters) -> None:
        super().__init__(config)
        self.tasks = _tasks(config.taskset, json.dumps(config.options, sort_keys=True), config.most_tasks)
        self.randomness = Randomness()
        self.task: Any = None

    def ask(self, seed: int) -> str:
        self.randomness.seed(seed)
        self.task = self.tasks[int(np.random.default_rng([seed, 6]).integers(len(self.tasks)))]
        return "\n\n".join(text for message in _messages(self.task) if (text := _text(message)))

    def score_of(self, answer: str) -> float | None:
        trace = _trace(self.task, answer)
        with self.randomness.installed():
            asyncio.run(self.task.score(trace))
        return float(trace.reward)

    def is_success(self, score: float) -> bool:
        return score >= self.config.success_reward


def _library() -> Any:
    return imported("verifiers.v1", extra=EXTRA)


@loaded_once(4)  # loading may read a data set
def _tasks(taskset: str, options: str, most: int) -> tuple[Any, ...]:
    library = _library()
    randomness = Randomness()
    randomness.seed(0)
    try:
        if library.environment_class(taskset) is not library.SingleAgentEnv:
            raise ValueError("it has an Env of its own")
        with randomness.installed():
            config = library.taskset_config_type(taskset).model_validate({**json.loads(options), "id": taskset})
            loaded = library.load_taskset(config)
            if loaded.toolsets(config):
                raise ValueError("it has tools")
            tasks = tuple(islice(loaded, most))
        if reasons := list(_obstacles(tasks[0])) if tasks else ["it has no tasks"]:
            raise ValueError(" and ".join(reasons))
        return tasks
    except Exception as error:  # a package may raise anything when it is imported or loads its data
        raise ConfigError(
            f"The task set {taskset!r} of verifiers cannot be used with {options}: {error}",
            remedy="Name an installed package that exports a Taskset whose tasks have one response and need no tools.",
        ) from error


def _obstacles(task: Any) -> Iterator[str]:
    """What it would need and does not have here."""
    kind, base = type(task), _library().Task
    if kind.NEEDS_CONTAINER or task.data.image:
        yield "its tasks need a container"
    if kind.toolsets(task.config):
        yield "its tasks have tools"
    if task.plugged_judges():
        yield "its tasks have a judge"
    if any(getattr(kind, name) is not getattr(base, name) for name in ("setup", "finalize")):
        yield "its tasks prepare a runtime"
    if any("runtime" in inspect.signature(reward).parameters for reward in task.hooks("reward")):
        yield "its rewards read a runtime"


def _messages(task: Any) -> list[Any]:
    """The conversation before the response."""
    library = _library()
    system, prompt = task.data.system_prompt, task.data.prompt
    before = [library.SystemMessage(content=system)] if system else []
    return [*before, *([library.UserMessage(content=prompt)] if isinstance(prompt, str) else prompt or [])]


def _text(message: Any) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content or [] if hasattr(part, "text"))


def _trace(task: Any, answer: str) -> Any:
    """What the rewards read: the conversation with the response, as a run of verifiers would have recorded it."""
    library = _library()
    messages = [*_messages(task), library.AssistantMessage(content=answer)]
    last = len(messages) - 1
    return library.Trace(
        task=library.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        state=imported("verifiers.v1.state", extra=EXTRA).state_cls(type(task))(),
        agent=library.AgentInfo(config=library.AgentConfig()),
        nodes=[
            library.MessageNode(message=message, parent=index - 1 if index else None, sampled=index == last)
            for index, message in enumerate(messages)
        ],
        is_completed=True,
        ok=True,
    )
