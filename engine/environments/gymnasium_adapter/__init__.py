"""The adapter for environments of the gymnasium registry."""
