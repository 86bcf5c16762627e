"""DeepCoder: programming tasks, judged by their tests in a sandbox."""

from engine.environments.deepcoder.environment import DeepCoder, DeepCoderParameters

__all__ = ["DeepCoder", "DeepCoderParameters"]
