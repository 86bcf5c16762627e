"""Log-probabilities and entropies over a vocabulary of 151,936, with their gradient: bytes and seconds of four ways.

    python -m benchmarks.head_scores [--tokens N ...] [--tiny]

Same hidden states, head and tokens for all; Qwen2.5-0.5B's width, float32, a process for each way, one thread on a CPU.
`bytes` is the most memory beyond hidden states, head and their gradients: resident memory on a CPU, allocated memory on
a GPU. `seconds` are of the process's CPU time there. The ways:

* `chunks`: the engine's own (`engine.policies.token_scores`);
* `plain`: log-softmax of all logits;
* `trl`: the selected logit minus logsumexp, row by row, and entropies of chunks of 128 rows without gradient, after the
  definitions of TRL's `selective_log_softmax` and `entropy_from_logits`;
* `verl`: the same log-probabilities, and logsumexp minus the mean logit under softmax, after the definition of verl's
  `entropy_from_logits`.

The last two are written from those definitions, and are not the libraries' code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.scaling.memory_case import reset_high_water_mark, resident
from engine.allocator import return_large_blocks
from engine.policies.token_scores import token_scores

WIDTH, VOCABULARY = 896, 151_936
TINY_VOCABULARY = 4096
TOKENS = (256, 512, 1024)
ROWS = 128  # of a chunk of TRL's entropies
ENTROPY = 0.001  # coefficient of the entropies in the loss
Scores = tuple[Tensor, Tensor]


def chunks(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    model: Any = SimpleNamespace(get_output_embeddings=lambda: head, config=SimpleNamespace())
    return token_scores(model, hidden, ids, temperature=1.0)


def plain(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    logprobs = torch.log_softmax(head(hidden), dim=-1)  # (N, V)
    return logprobs.gather(-1, ids[:, None]).squeeze(-1), -(logprobs.exp() * logprobs).sum(-1)


def trl(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    logits = head(hidden)  # (N, V)
    entropies = []
    with torch.no_grad():
        for some in logits.split(ROWS):
            logprobs = torch.log_softmax(some, dim=-1)
            entropies.append(-(logprobs.exp() * logprobs).sum(-1))
    return _selected(logits, ids), torch.cat(entropies)


def verl(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    logits = head(hidden)  # (N, V)
    entropies = torch.logsumexp(logits, dim=-1) - (torch.softmax(logits, dim=-1) * logits).sum(-1)
    return _selected(logits, ids), entropies


def _selected(logits: Tensor, ids: Tensor) -> Tensor:
    """Row by row, so that logsumexp makes no copy of all logits."""
    chosen = logits.gather(-1, ids[:, None]).squeeze(-1)
    return chosen - torch.stack([torch.logsumexp(row, dim=-1) for row in logits])


WAYS: dict[str, Callable[[nn.Linear, Tensor, Tensor], Scores]] = {
    "chunks": chunks,
    "plain": plain,
    "trl": trl,
    "verl": verl,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--tiny", action="store_true", help=f"a vocabulary of {TINY_VOCABULARY:,}")
    parser.add_argument("--only", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    vocabulary = TINY_VOCABULARY if options.tiny else VOCABULARY
    if options.only:
        sys.stdout.write(json.dumps(measure(options.only, options.tokens[0], vocabulary)) + "\n")
        return 0
    for tokens in options.tokens:
        command = [sys.executable, "-m", "benchmarks.head_scores", "--tokens", str(tokens)]
        command += ["--tiny"] if options.tiny else []
        found = {}
        for way in WAYS:
            done = subprocess.run([*command, "--only", way], stdout=subprocess.PIPE, text=True, check=True)
            found[way] = json.loads(done.stdout)
        line = {"benchmark": "head_scores", "vocabulary": vocabulary, "tokens": tokens, **found}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    return 0


def measure(way: str, tokens: int, vocabulary: int) -> dict[str, Any]:
    """One pass there and back, after one of few tokens that loads what is needed."""
    gpu = torch.cuda.is_available()
    device = "cuda" if gpu else "cpu"
    if not gpu:
        torch.set_num_threads(1)
        return_large_blocks()
    torch.manual_seed(1)
    with torch.device(device):
        head = nn.Linear(WIDTH, vocabulary, bias=False)
        hidden = torch.randn(tokens, WIDTH, requires_grad=True)
        ids = torch.randint(vocabulary, (tokens,))
    _pass(WAYS[way], head, hidden[:2].detach(), ids[:2])
    hidden.grad = torch.zeros_like(hidden)
    torch.cuda.reset_peak_memory_stats() if gpu else reset_high_water_mark()
    before = torch.cuda.memory_allocated() if gpu else resident("VmRSS")
    began = time.perf_counter() if gpu else time.process_time()
    total = _pass(WAYS[way], head, hidden, ids)
    if gpu:
        torch.cuda.synchronize()
    seconds = (time.perf_counter() if gpu else time.process_time()) - began
    most = torch.cuda.max_memory_allocated() if gpu else resident("VmHWM")
    return {"bytes": most - before, "seconds": round(seconds, 2), "loss": total}


def _pass(way: Callable[[nn.Linear, Tensor, Tensor], Scores], head: nn.Linear, hidden: Tensor, ids: Tensor) -> float:
    logprobs, entropies = way(head, hidden, ids)
    loss = -(logprobs.mean() + ENTROPY * entropies.mean())
    loss.backward()
    return round(float(loss.detach()), 6)


if __name__ == "__main__":
    sys.exit(main())
