"""ALFWorld: household tasks by text commands, in households of our own or in ALFWorld's own games."""

from engine.environments.alfworld.environment import Alfworld, AlfworldParameters

__all__ = ["Alfworld", "AlfworldParameters"]
