"""Spatial: explore a room by symbolic views, then answer a question about it."""

from engine.environments.spatial.environment import Spatial, SpatialParameters

__all__ = ["Spatial", "SpatialParameters"]
