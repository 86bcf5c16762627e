"""Suites: fixed lists of held-out problems with everything that decides how they are played, and their evaluation."""
