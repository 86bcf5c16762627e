"""Text search of trajectories: the query (`terms`), the indexes (`indexes`) and the excerpts (`snippets`)."""
