"""How the learners' weights get to the samplers: through Ray's object store, or from GPU to GPU by vLLM's own API.

This is the driver's side. Whichever way is used, both ends are compared afterwards: by checksums of their weights, and
by the log-probabilities of the same tokens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from engine.cluster.actors import ActorPool, Call, learner_calls, sampler_calls
from engine.cluster.connection import ClusterFault
from engine.cluster.weight_sender import nccl_link, nccl_worker_link
from engine.errors import ModelError
from engine.policies.weight_checksums import WeightChecksum, agree
from engine.rollout.context_manager import ContextManager

PROBE_TEXT_TOKENS = 24
PROBE_TEXT = "Where sampler and learner hold the same weights, they find the same words to be as likely."
OTHER_TRANSFER = "Use cluster.weight_transfer object_store, or cluster.sampler torch, for this model, and report it."
Wait = Callable[[Sequence[Call]], list[Any]]


class WeightTransfer(Protocol):
    """`wait` waits for the results of a weight sync, and raises what went wrong."""

    def __init__(self, pool: ActorPool, wait: Wait) -> None: ...

    def send(self) -> None:
        """All samplers hold the learners' weights when this returns. Not during a rollout."""

    def restore(self, index: int) -> None:
        """Gives the new sampler at `index` the weights that the other samplers have."""


class ObjectStore:
    """Through the machines' memory. Works for any sampler on any device; no sampler waits for another."""

    def __init__(self, pool: ActorPool, wait: Wait) -> None:
        self.pool, self.wait = pool, wait
        self.latest: Any = None  # a reference; the weights do not pass through this process

    def send(self) -> None:
        """Waits for all calls at once: when one learner fails, the others block on it, and the samplers on them."""
        (_, self.latest), *others = learner_calls(self.pool, "weights")
        self.wait([*sampler_calls(self.pool, "load", self.latest), *others])

    def restore(self, index: int) -> None:
        self.wait([(f"sampler {index}", self.pool.samplers[index].load.remote(self.latest))])


class DirectTransfer(ABC):
    """The common part of vLLM's two ways: the ends are connected first, and again after an actor died."""

    def __init__(self, pool: ActorPool, wait: Wait) -> None:
        self.pool, self.wait = pool, wait
        self.joined = False

    def send(self) -> None:
        if not self.joined:
            self._join()
            self.joined = True
        self._send()

    def restore(self, index: int) -> None:
        """Once through the machines' memory: the other samplers may be in the middle of a response."""
        if self.pool.config.cluster.overlap:
            raise ClusterFault(
                f"sampler {index} died, and the learners have already updated the weights that it had.",
                remedy="The run resumes from its last checkpoint.",
            )
        self.joined = False
        calls = learner_calls(self.pool, "weights")
        self.wait([(f"sampler {index}", self.pool.samplers[index].load.remote(calls[0][1])), *calls[1:]])

    @abstractmethod
    def _join(self) -> None: ...

    @abstractmethod
    def _send(self) -> None: ...


class Nccl(DirectTransfer):
    """The first learner and all workers of all samplers form one NCCL group, which needs a GPU for each."""

    def _join(self) -> None:
        width = self.pool.config.cluster.tensor_parallel
        samplers = self.pool.samplers
        self.wait(sampler_calls(self.pool, "leave_transfer"))
        host, port = self.wait(learner_calls(self.pool, "host_and_port")[:1])[0]
        link = nccl_link(host, port, workers=width * len(samplers))
        joining = [
            (f"sampler {index}", sampler.join_transfer.remote(nccl_worker_link(link, index, tensor_parallel=width)))
            for index, sampler in enumerate(samplers)
        ]
        self.wait([*joining, *learner_calls(self.pool, "open_nccl", link)])

    def _send(self) -> None:
        manifest = self.wait(learner_calls(self.pool, "manifest")[:1])[0]
        self.wait(sampler_calls(self.pool, "start_update"))
        self.wait([*sampler_calls(self.pool, "receive_update", manifest), *learner_calls(self.pool, "send_weights")])
        self.wait(sampler_calls(self.pool, "finish_update"))


class Ipc(DirectTransfer):
    """Each sampler reads the memory of the learner that it shares its GPU with."""

    def _join(self) -> None:
        self.wait(learner_calls(self.pool, "open_ipc", self.pool.samplers))

    def _send(self) -> None:
        self.wait(learner_calls(self.pool, "send_weights"))


TRANSFERS: dict[str, type[ObjectStore | Nccl | Ipc]] = {"object_store": ObjectStore, "nccl": Nccl, "ipc": Ipc}


def probe_text_ids(context: ContextManager, limit: int) -> list[list[int]]:
    """Tokens to compare log-probabilities on before anything is sampled, within a context of `limit`."""
    return [list(context.encode(PROBE_TEXT))[: min(PROBE_TEXT_TOKENS, limit - 1)]]


def compare_checksums(sent: dict[str, WeightChecksum], held: Sequence[dict[str, WeightChecksum]]) -> int:
    """How many samplers could be compared, bit by bit: those that hold weights in the form in which they were sent.
    `ModelError` where one holds other weights."""
    same = [agree(sent, one) for one in held]
    if False in same:
        raise ModelError(
            f"After a weight sync sampler {same.index(False)} does not hold the learner's weights: their checksums "
            "differ.",
            remedy=OTHER_TRANSFER,
        )
    return sum(found is not None for found in same)


def logprob_gap(learner: list[list[float]], samplers: Sequence[list[list[float]]]) -> float:
    """The largest difference on any token, in nats."""
    return max(
        abs(sampled - learned)
        for found in samplers
        for row, expected in zip(found, learner, strict=True)
        for sampled, learned in zip(row, expected, strict=True)
    )


def require_small_gap(gap: float, limit: float) -> None:
    if not gap <= limit:
        raise ModelError(
            f"After a weight sync a sampler's log-probabilities differ from the learner's: by {gap:.3g} nats on some "
            f"token, and rounding explains at most {limit}. It does not hold the learner's weights.",
            remedy=OTHER_TRANSFER,
        )
