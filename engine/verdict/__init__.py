"""The verdict of a run: its label, regime and format changes, computed once from its events. No torch."""
