"""Log-probabilities and entropies over a vocabulary of 151,936, with their gradient: bytes and seconds of six ways.

    python -m benchmarks.head_scores [--tokens N ...] [--small]

Same hidden states, head and tokens for all; Qwen2.5-0.5B's width, float32, a process for each way, one thread on a CPU.
`bytes` is the most memory beyond hidden states, head and their gradients: resident memory on a CPU, allocated memory on
a GPU. `seconds` are of the process's CPU time there. The ways:

* `chunks`: the engine's own (`engine.policies.token_scores`);
* `compiled`: the same with `optimizer.compile_scores`, after it was compiled;
* `plain`: log-softmax of all logits;
* `trl`: TRL's `selective_log_softmax`, and its `entropy_from_logits` without gradient;
* `verl`: verl's `logprobs_from_logits` and `entropy_from_logits`;
* `verl_fused`: verl's `FusedLinearForPPO`, which scores 512 tokens at a time and recomputes their logits.

TRL and verl are called where they are installed, in this environment or in `.venv-trl` and `.venv-verl` (`make
setup-trl setup-verl`); `source` has their version. Elsewhere it is `formula`: written here from the definitions of
these functions, and not for `verl_fused`, which is then left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.scaling.memory_case import reset_high_water_mark, resident
from engine.allocator import return_large_blocks
from engine.compilers import missing_compiler

ROOT = Path(__file__).resolve().parents[1]
WIDTH, VOCABULARY = 896, 151_936
TINY_VOCABULARY = 4096
TOKENS = (256, 512, 1024)
ROWS = 128  # of a chunk of TRL's entropies
ENTROPY = 0.001  # coefficient of the entropies in the loss
Scores = tuple[Tensor, Tensor]


def chunks(head: nn.Linear, hidden: Tensor, ids: Tensor, *, compiled: bool = False) -> Scores:
    from engine.policies.token_scores import token_scores

    model: Any = SimpleNamespace(get_output_embeddings=lambda: head, config=SimpleNamespace(), compiles_scores=compiled)
    return token_scores(model, hidden, ids, temperature=1.0)


def compiled(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    return chunks(head, hidden, ids, compiled=True)


def plain(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    logprobs = torch.log_softmax(head(hidden), dim=-1)  # (N, V)
    return logprobs.gather(-1, ids[:, None]).squeeze(-1), _entropies(logprobs)


def trl(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    logits = head(hidden)  # (N, V)
    if not installed("trl"):
        with torch.no_grad():
            entropies = torch.cat([_entropies(torch.log_softmax(some, dim=-1)) for some in logits.split(ROWS)])
        return _selected(logits, ids), entropies
    from trl.trainer.utils import entropy_from_logits, selective_log_softmax

    logprobs = selective_log_softmax(logits, ids)
    with torch.no_grad():
        return logprobs, entropy_from_logits(logits)


def verl(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    logits = head(hidden)  # (N, V)
    if not installed("verl"):
        entropies = torch.logsumexp(logits, dim=-1) - (torch.softmax(logits, dim=-1) * logits).sum(-1)
        return _selected(logits, ids), entropies
    from verl.utils.torch_functional import entropy_from_logits, logprobs_from_logits

    return logprobs_from_logits(logits, ids, inplace_backward=False), entropy_from_logits(logits)


def verl_fused(head: nn.Linear, hidden: Tensor, ids: Tensor) -> Scores:
    from verl.utils.experimental.torch_functional import FusedLinearForPPO

    found: Scores = FusedLinearForPPO()(hidden, head.weight, ids)
    return found


def _entropies(logprobs: Tensor) -> Tensor:
    return -(logprobs.exp() * logprobs).sum(-1)


def _selected(logits: Tensor, ids: Tensor) -> Tensor:
    """Row by row, so that logsumexp makes no copy of all logits."""
    chosen = logits.gather(-1, ids[:, None]).squeeze(-1)
    return chosen - torch.stack([torch.logsumexp(row, dim=-1) for row in logits])


WAYS: dict[str, Callable[[nn.Linear, Tensor, Tensor], Scores]] = {
    "chunks": chunks,
    "compiled": compiled,
    "plain": plain,
    "trl": trl,
    "verl": verl,
    "verl_fused": verl_fused,
}
TITLES = {
    "chunks": "in chunks (the engine)",
    "compiled": "in chunks, compiled",
    "plain": "plain",
    "trl": "TRL",
    "verl": "verl",
    "verl_fused": "verl, fused",
}
PACKAGES = {"trl": "trl", "verl": "verl", "verl_fused": "verl"}


def installed(package: str) -> bool:
    """In this environment."""
    return importlib.util.find_spec(package) is not None


def python_of(way: str) -> str:
    """The interpreter that has the package of `way`; this one if none has."""
    package = PACKAGES.get(way)
    own = ROOT / f".venv-{package}" / "bin" / "python"
    return str(own) if package and not installed(package) and own.exists() else sys.executable


def source(way: str) -> str:
    package = PACKAGES.get(way)
    if package is None:
        return "torch"
    return f"{package} {metadata.version(package)}" if installed(package) else "formula"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--small", action="store_true", help=f"a vocabulary of {TINY_VOCABULARY:,}")
    parser.add_argument("--only", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    vocabulary = TINY_VOCABULARY if options.small else VOCABULARY
    if options.only:
        sys.stdout.write(json.dumps(measure(options.only, options.tokens[0], vocabulary)) + "\n")
        return 0
    for tokens in options.tokens:
        arguments = ["-m", "benchmarks.head_scores", "--tokens", str(tokens), *(["--small"] if options.small else [])]
        found = {}
        for way in WAYS:
            command = [python_of(way), *arguments, "--only", way]
            if reason := missing(way):
                sys.stderr.write(f"{way}: not run. {reason}\n")
                continue
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
            found[way] = json.loads(done.stdout.splitlines()[-1])  # libraries print there as well
        line = {"benchmark": "head_scores", "vocabulary": vocabulary, "tokens": tokens, **found}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    return 0


def missing(way: str) -> str:
    """Why it cannot be measured here."""
    if way == "compiled" and missing_compiler("cpu"):
        return "It needs a C++ compiler."
    if way == "verl_fused" and not installed("verl") and python_of(way) == sys.executable:
        return "It needs verl: make setup-verl."
    return ""


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
    return {"bytes": most - before, "seconds": round(seconds, 2), "loss": total, "source": source(way)}


def _pass(way: Callable[[nn.Linear, Tensor, Tensor], Scores], head: nn.Linear, hidden: Tensor, ids: Tensor) -> float:
    logprobs, entropies = way(head, hidden, ids)
    loss = -(logprobs.mean() + ENTROPY * entropies.mean())
    loss.backward()
    return round(float(loss.detach()), 6)


if __name__ == "__main__":
    sys.exit(main())
