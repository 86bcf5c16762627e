"""How the learners' weights get to the samplers: through Ray's object store, or from GPU to GPU by vLLM's own API.

The driver's side of it. Whichever way they went, `RayBackend` asks both ends afterwards what they find of some tokens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from engine.cluster.actors import Asked, Troupe, of_learners, of_samplers
from engine.cluster.faults import ClusterFault
from engine.cluster.weight_sender import nccl_link, nccl_worker_link

Wait = Callable[[Sequence[Asked]], list[Any]]


class WeightTransfer(Protocol):
    """`wait` is for answers of a weight sync, and raises what went wrong."""

    def __init__(self, troupe: Troupe, wait: Wait) -> None: ...

    def send(self) -> None:
        """All samplers hold the learners' weights when this returns. Not while something is played."""

    def revive(self, place: int) -> None:
        """A sampler that is new at `place` gets the weights that the others have."""


class ObjectStore:
    """By way of the machines' memory. Any sampler on any device, and none has to wait for another."""

    def __init__(self, troupe: Troupe, wait: Wait) -> None:
        self.troupe, self.wait = troupe, wait
        self.newest: Any = None  # a reference; they do not pass through this process

    def send(self) -> None:
        """All are waited for at once: where one learner fails the others wait for it, and the samplers for them."""
        (_, self.newest), *others = of_learners(self.troupe, "weights")
        self.wait([*of_samplers(self.troupe, "load", self.newest), *others])

    def revive(self, place: int) -> None:
        self.wait([(f"sampler {place}", self.troupe.samplers[place].load.remote(self.newest))])


class FromGpuToGpu(ABC):
    """What both of vLLM's ways have in common: ends that know each other, and have to be made again after a death."""

    def __init__(self, troupe: Troupe, wait: Wait) -> None:
        self.troupe, self.wait = troupe, wait
        self.joined = False

    def send(self) -> None:
        if not self.joined:
            self._join()
            self.joined = True
        self._send()

    def revive(self, place: int) -> None:
        """Once by way of the machines' memory: the others may be in the middle of a response."""
        if self.troupe.config.cluster.overlap:
            raise ClusterFault(
                f"sampler {place} is gone, and the learners are ahead of the weights that it had.",
                remedy="The run goes on from its last checkpoint.",
            )
        self.joined = False
        asked = of_learners(self.troupe, "weights")
        self.wait([(f"sampler {place}", self.troupe.samplers[place].load.remote(asked[0][1])), *asked[1:]])

    @abstractmethod
    def _join(self) -> None: ...

    @abstractmethod
    def _send(self) -> None: ...


class Nccl(FromGpuToGpu):
    """The first learner and all workers of all samplers in one group of NCCL, which needs a GPU for each."""

    def _join(self) -> None:
        width = self.troupe.config.cluster.tensor_parallel
        samplers = self.troupe.samplers
        self.wait(of_samplers(self.troupe, "leave_transfer"))
        host, port = self.wait(of_learners(self.troupe, "meeting")[:1])[0]
        link = nccl_link(host, port, workers=width * len(samplers))
        joining = [
            (f"sampler {place}", sampler.join_transfer.remote(nccl_worker_link(link, place, tensor_parallel=width)))
            for place, sampler in enumerate(samplers)
        ]
        self.wait([*joining, *of_learners(self.troupe, "open_nccl", link)])

    def _send(self) -> None:
        manifest = self.wait(of_learners(self.troupe, "manifest")[:1])[0]
        self.wait(of_samplers(self.troupe, "start_update"))
        self.wait([*of_samplers(self.troupe, "take_update", manifest), *of_learners(self.troupe, "send_weights")])
        self.wait(of_samplers(self.troupe, "finish_update"))


class Ipc(FromGpuToGpu):
    """Each sampler reads the memory of the learner that it shares its GPU with."""

    def _join(self) -> None:
        self.wait(of_learners(self.troupe, "open_ipc", self.troupe.samplers))

    def _send(self) -> None:
        self.wait(of_learners(self.troupe, "send_weights"))


WAYS: dict[str, type[ObjectStore | Nccl | Ipc]] = {"object_store": ObjectStore, "nccl": Nccl, "ipc": Ipc}
