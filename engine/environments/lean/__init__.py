"""Lean: theorems proved tactic by tactic, checked by a Lean server or a local toolchain."""

from engine.environments.lean.environment import Lean, LeanParameters

__all__ = ["Lean", "LeanParameters"]
