"""Attention of packs without padding and in padded rows: seconds of a forward and backward pass, and how they differ.

    python -m benchmarks.gpu.packed_attention [--small] [--tokens N] [--repeats N]

One layer's attention with the heads of Qwen2.5-0.5B, in bfloat16. Lengths of sequences are uniform between 64 and 2,048
tokens, from a fixed seed. `without_padding` is absent where PyTorch's kernel for that does not exist, as on CPUs, or
does not pass the trial that decides whether the engine uses it. `padding`: tokens of the padded rows over real ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen2Config

from benchmarks.gpu.models import QWEN25_HALF_BILLION, SMALL, device_name
from benchmarks.rounded_weights import clock
from engine.policies.attention import padded_attention
from engine.policies.packing import Layout, layout
from engine.policies.varlen_attention import varlen_attention, varlen_can_attend

SHORTEST, LONGEST = 64, 2048
WARM_UP = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few heads and tokens, for any machine")
    parser.add_argument("--tokens", type=int, help="of a pack, at least")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    sizes = SMALL if options.small else QWEN25_HALF_BILLION
    tokens = options.tokens or (2 * LONGEST if options.small else 16 * LONGEST)
    found = measure(sizes, tokens=tokens, repeats=options.repeats)
    sys.stdout.write(json.dumps({"benchmark": "packed_attention", **found}) + "\n")
    return 0


def measure(sizes: dict[str, Any], *, tokens: int, repeats: int) -> dict[str, Any]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = Qwen2Config(**sizes)
    pack, lengths = pack_of(tokens, device)
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    size = config.hidden_size // heads
    shapes = [(1, count, sum(lengths), size) for count in (heads, kv_heads, kv_heads)]
    leaves = [torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True) for shape in shapes]
    layer = SimpleNamespace(num_key_value_groups=heads // kv_heads)  # all that SDPA reads of a layer

    def in_rows() -> Tensor:
        return padded_attention(layer, leaves[0], leaves[1], leaves[2], pack, None, scaling=size**-0.5)

    padded, expected = timed(in_rows, leaves, repeats)
    found: dict[str, Any] = {
        "device": device_name(),
        "tokens": sum(lengths),
        "sequences": len(lengths),
        "padding": round(sum(rows.numel() for rows in pack.groups) / sum(lengths), 3),
        "padded_seconds": round(padded, 6),
    }
    if varlen_can_attend(leaves[0], leaves[1], leaves[2], None):
        seconds, got = timed(lambda: varlen_attention(leaves[0], leaves[1], leaves[2], pack), leaves, repeats)
        found |= {
            "without_padding_seconds": round(seconds, 6),
            "padded_of_without_padding": round(padded / seconds, 2),
            "largest_difference": max(
                float((one - other).abs().max()) for one, other in zip(got, expected, strict=True)
            ),
        }
    return found


def pack_of(tokens: int, device: torch.device) -> tuple[Layout, list[int]]:
    draw, lengths = torch.Generator().manual_seed(0), list[int]()
    while sum(lengths) < tokens:
        lengths.append(int(torch.randint(SHORTEST, LONGEST + 1, (1,), generator=draw)))
    positions = torch.cat([torch.arange(length) for length in lengths]).to(device)
    return layout(torch.tensor(lengths), positions), lengths


def timed(attend: Callable[[], Tensor], leaves: list[Tensor], repeats: int) -> tuple[float, list[Tensor]]:
    """Median seconds; the output and the gradients of its sum of squares."""
    every = []
    for _ in range(WARM_UP + repeats):
        began = clock()
        output = attend()
        results = [output.detach(), *torch.autograd.grad(output.float().square().sum(), leaves)]
        every.append(clock() - began)
    return statistics.median(every[WARM_UP:]), results


if __name__ == "__main__":
    sys.exit(main())
