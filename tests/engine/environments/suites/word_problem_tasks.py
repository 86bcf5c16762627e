"""A task set of verifiers with the word problems that ship: what a package of one exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from engine.environments.questions.answers import same_answer
from engine.environments.questions.sets import shipped

__all__ = ["WordProblems"]


class WordProblemsConfig(vf.TasksetConfig):
    most_steps: int = 4
    count: int = 40
    tools: bool = False
    container: bool = False


class WordProblem(vf.TaskData):
    answer: str


def response(trace: vf.Trace) -> str:
    return str(trace.assistant_messages[-1].content)


class WordProblemTask(vf.Task[WordProblem, vf.State, vf.TaskConfig]):
    @vf.reward(weight=1.0)
    async def correct(self, task: WordProblem, trace: vf.Trace) -> float:
        return float(same_answer(response(trace), task.answer))

    @vf.reward(weight=0.1)
    async def brief(self, trace: vf.Trace) -> float:
        return float(len(response(trace)) <= 4)


class WordProblems(vf.Taskset[WordProblemTask, WordProblemsConfig]):
    def load(self) -> Iterator[WordProblemTask]:
        questions = shipped("word_problems", most_steps=self.config.most_steps)
        for seed in range(self.config.count):
            question = questions.draw(seed, "train")
            yield WordProblemTask(
                WordProblem(
                    prompt=question.text,
                    answer=question.answer,
                    system_prompt="Write one number.",
                    image="python:3.11" if self.config.container else None,
                ),
                self.config.task,
            )

    @classmethod
    def toolsets(cls, config: WordProblemsConfig) -> list[Any]:
        return ["a tool"] if config.tools else []
