"""Peak throughput of GPUs by their makers: dense bfloat16 on tensor cores, in TFLOP/s."""

from __future__ import annotations

import re

# NVIDIA's data sheets of each; those that give numbers "with sparsity" are halved. The first that fits counts.
DENSE_BFLOAT16 = {
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H200 NVL": 835.0,
    "B200": 2250.0,
    "H200": 989.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L4": 121.0,
}


class UnknownPeak(ValueError):
    """The message explains how to pass it."""


def peak_tflops(device: str, *, half: bool, given: float | None = None) -> float:
    """For a GPU by the name that torch reports; `given` takes precedence over the table. `half`: it computes in
    bfloat16."""
    if given:
        return given
    if not half:
        raise UnknownPeak("The table has peaks of bfloat16 alone. Pass --peak-tflops, the GPU's peak in float32.")
    for name, peak in DENSE_BFLOAT16.items():
        if re.search(rf"\b{name}\b", device):
            return peak
    raise UnknownPeak(
        f"The peak of {device!r} is not in the table, which has {', '.join(sorted(DENSE_BFLOAT16))}. Pass "
        "--peak-tflops with its data sheet's number for dense bfloat16 on tensor cores, without sparsity."
    )
