"""Finding trajectories by words: what was asked (`terms`), who finds it (`indexes`), and where it stands (`snippets`)."""
