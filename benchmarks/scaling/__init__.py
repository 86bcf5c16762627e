"""How a step's time grows with models, trajectories and processes: measured here, fitted, and worked out for GPUs."""
