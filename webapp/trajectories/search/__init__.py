"""Finding trajectories by words: what was asked (`terms`), who finds it (`indexes`), where it stands (`snippets`)."""
