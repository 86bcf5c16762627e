"""A run's metrics in the files of other trackers. No torch, and none of their libraries."""
