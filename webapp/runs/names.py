"""Generates names of runs such as `calm-otter-12`."""

from __future__ import annotations

import random

_ADJECTIVES = (
    "amber bold brisk calm clear cosy deft eager early fair fleet fond gentle glad grand green happy hardy keen kind "
    "lively loyal lucid merry mild neat noble open plain proud quick quiet rapid ready sharp shy silver sleek steady "
    "still sunny swift tidy true vivid warm wise young"
)
_ANIMALS = (
    "badger bear beaver bison condor crane crow deer dolphin eagle egret falcon finch fox gecko goose hare hawk heron "
    "ibex ibis jay kestrel lark lemur lynx magpie marten mole moose newt orca osprey otter owl panda pelican puffin "
    "quail raven robin salmon seal shrew sparrow stoat swan tern thrush trout turtle vole walrus weasel wolf wren"
)


def generated_name() -> str:
    return f"{random.choice(_ADJECTIVES.split())}-{random.choice(_ANIMALS.split())}-{random.randint(1, 99)}"
