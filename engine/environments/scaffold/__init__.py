"""The package that `python -m engine new-environment` writes, and the command."""
