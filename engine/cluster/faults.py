"""What goes wrong on a cluster and may go well after a fresh start."""

from __future__ import annotations

from engine.errors import ConfigError, RetryableFault


class ClusterFault(RetryableFault):
    """A process, a node or Ray itself is gone, or a phase hangs: the run can go on from its last checkpoint."""


class NoCluster(ConfigError):
    """There is no cluster at the address that was given, or not one that could ever do."""


class Unanswered(NoCluster):
    """Nothing answers there, or Ray cannot join it: true of a cluster that is being started, too."""
