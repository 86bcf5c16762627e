"""The pre-flight of an environment: some problems, each played several times, before a run spends hours on them.

`episodes` plays with a player or a model, `report` says what RL could learn from it, `command` is the program.
"""
