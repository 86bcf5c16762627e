"""Writes the results of other libraries on random batches, as fixtures for the tests of `engine.algorithms`.

Run it manually in an environment of its own that has the library (nothing else needs it):

    python -m benchmarks.reference_vectors verl tests/engine/algorithms/reference
    python -m benchmarks.reference_vectors trl tests/engine/algorithms/reference

One JSON file each: numbers only, the versions of the library and of torch, and the seed.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.reference_vectors import of_trl, of_verl
from benchmarks.reference_vectors.batches import GROUPS, SEED, inputs

LIBRARIES = {"verl": of_verl.answers, "trl": of_trl.answers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("folder", type=Path, help="where the fixture is written")
    options = parser.parse_args()
    generator = torch.Generator().manual_seed(SEED)
    cases = []
    for zero in (False, True):
        given = inputs(generator, zero=zero)
        found = LIBRARIES[options.library](given)
        cases.append({"given": as_lists(given), "groups": GROUPS, "expected": as_lists(found)})
    versions = {name: version(name) for name in (options.library, "torch")}
    options.folder.mkdir(parents=True, exist_ok=True)
    written = {**versions, "seed": SEED, "cases": cases}
    (options.folder / f"{options.library}.json").write_text(json.dumps(written) + "\n")


def as_lists(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: rounded(value.tolist()) for name, value in tensors.items()}


def rounded(value: Any) -> Any:
    return [rounded(each) for each in value] if isinstance(value, list) else float(f"{value:.8g}")


if __name__ == "__main__":
    main()
