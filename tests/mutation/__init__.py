"""Mutation testing on demand: `python -m tests.mutation engine/algorithms` breaks a sample of lines, one at a time, and
says which breakages no test notices."""
