"""What GPUs can do by their maker, and how much of it is assumed to be reached. Nothing here was measured here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One of eight in a machine; bytes and operations a second, links in one direction."""

    name: str
    memory: float  # bytes
    bandwidth: float  # of its memory
    half: float  # operations, dense bfloat16 on tensor cores
    single: float  # operations, float32 past the tensor cores
    link: float  # to the other GPUs of its machine
    network: float  # to other machines
    host: float  # to its machine's memory


# NVIDIA H100 data sheet, SXM: 80 GB, 3.35 TB/s, 1,979 TFLOP/s bfloat16 with sparsity, 67 float32, NVLink 900 GB/s and
# PCIe 128 GB/s in both directions together. NVIDIA DGX H100 data sheet: eight network cards of 400 Gb/s for eight GPUs.
H100 = Gpu(
    name="H100 SXM",
    memory=80e9,
    bandwidth=3.35e12,
    half=989.5e12,
    single=67e12,
    link=450e9,
    network=50e9,
    host=64e9,
)
PER_MACHINE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """Shares of what the maker names, and times that no maker names."""

    learning: float = 0.4  # of `half`; 38% to 43% were reported on 8,192 to 16,384 H100 (arXiv 2407.21783, table 4)
    single: float = 0.7  # of `single`, in large products
    reading: float = 0.5  # of `half`, when prompts are read
    memory: float = 0.6  # of `bandwidth`, when tokens are decoded
    links: float = 0.7  # of links and network, in collective operations
    hop: float = 5e-6  # seconds from one process to the next in a collective operation
    pass_seconds: float = 8e-3  # of vLLM's scheduler and our code between two passes, with 256 rows
    copy: float = 2e9  # bytes a second of one process that copies weights within a machine's memory
    transport: float = 3e9  # bytes a second of Ray's objects from one machine to another, over TCP
    memory_share: float = 0.85  # of a GPU's memory, for vLLM
    room: float = 0.9  # of a GPU's memory, for a learner
